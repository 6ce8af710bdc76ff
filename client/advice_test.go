// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Whoever sets up a connection wrongly is told what to do, in one sentence.
func TestConnectionMistakes(t *testing.T) {
	t.Parallel()
	a, other := servertest.NewAuthority(t), servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = a.Issue("server", nil)
	one := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files}})
	files.ClientCA = a.File
	mutual := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files}})
	plain := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0"}})
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}))
	proxy.EnableHTTP2 = true
	proxy.StartTLS()
	defer proxy.Close()
	speaksHTTP := httptest.NewUnstartedServer(proxy.Config.Handler) // and HTTP/2, as gRPC does
	speaksHTTP.Config.Protocols = new(http.Protocols)
	speaksHTTP.Config.Protocols.SetUnencryptedHTTP2(true)
	speaksHTTP.Start()
	defer speaksHTTP.Close()
	files.ClientCA = ""
	files.Cert, files.Key = a.Issue("expired", func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	})
	expired := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files}})
	theirs := client.TLSFiles{CA: a.File}
	theirs.Cert, theirs.Key = other.Issue("ann", nil)
	const ended = "it may speak TLS where this client does not"
	withoutName := client.TLSFiles{CA: a.File, ServerName: "x.example.org"}
	// What a client sees of a refused certificate is a race between the connection's two ends.
	for _, c := range []struct {
		name, address string
		tls           client.TLSFiles
		says, orSays  string
	}{
		{"plain to TLS", one.Addr, client.TLSFiles{}, ended, ended},
		{"TLS to plain", plain.Addr, client.TLSFiles{CA: a.File}, "speaks no TLS on this port", ""},
		{"the HTTP port", plain.HTTPAddr, client.TLSFiles{}, "this is a port for browsers", ""},
		{"another authority", one.Addr, client.TLSFiles{CA: other.File}, "an authority that is not trusted here", ""},
		{"another name", one.Addr, withoutName, "for another name", ""},
		{"no certificate", mutual.Addr, client.TLSFiles{CA: a.File}, "asks for a client certificate", ended},
		{"their authority", mutual.Addr, theirs, "does not trust the authority of your certificate", ended},
		{"expired", expired.Addr, client.TLSFiles{CA: a.File}, "renew the server's certificate", ""},
		{"a proxy", speaksHTTP.Listener.Addr().String(), client.TLSFiles{}, "it must pass gRPC", ""},
		{"something else", proxy.Listener.Addr().String(), client.TLSFiles{}, ended, ended},
	} {
		config := client.Config{Server: c.address, Principal: "somebody", MaxAttempts: 1}
		if c.tls != (client.TLSFiles{}) {
			var err error
			if config.TLS, err = c.tls.Config(); err != nil {
				t.Fatal(err)
			}
		}
		daemon, err := client.New(config)
		if err != nil {
			t.Fatal(c.name, err)
		}
		_, err = daemon.GetLedger(servertest.Context(t), "a")
		if err == nil || !strings.Contains(err.Error(), c.says) &&
			(c.orSays == "" || !strings.Contains(err.Error(), c.orSays)) {
			t.Errorf("%s: %v; want %q", c.name, err, c.says)
		}
		if err := daemon.Close(); err != nil {
			t.Error(c.name, err)
		}
	}
}
