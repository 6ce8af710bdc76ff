// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/client"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A client is known by its certificate, and by the one that is there when it connects.
func TestTLSFiles(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = a.Issue("server", nil)
	files.ClientCA = a.File
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files}})
	mine := client.TLSFiles{CA: a.File}
	mine.Cert, mine.Key = a.Issue("ann", nil)
	principal := func(name string) string {
		t.Helper()
		config, err := mine.Config()
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(client.Config{Server: s.Addr, TLS: config, Principal: "somebody", MaxAttempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		answer, err := c.CreateLedger(servertest.Context(t),
			&accountantv1.LedgerSpec{Name: name, Adjacency: accountantv1.Workload_ADD_OR_REMOVE_ONE})
		if err != nil {
			return err.Error()
		}
		return answer.GetLedger().GetPrincipal()
	}
	if p := principal("tls/a"); p != "cn:ann" {
		t.Errorf("principal %q; want cn:ann", p)
	}
	mine.ServerName = "elsewhere.example.org"
	if p := principal("tls/b"); !strings.Contains(p, "elsewhere.example.org") {
		t.Errorf("%q; want a refusal of the server's name", p)
	}
	mine.ServerName, mine.Cert, mine.Key = "", "", ""
	// What the client sees of it is a race between the alert and its first write.
	if p := principal("tls/c"); !strings.Contains(p, "Unavailable") {
		t.Errorf("%q; want a refusal without a certificate", p)
	}
}

// A renewed certificate is used by a client that exists; a broken one is not.
func TestTLSFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	var files client.TLSFiles
	files.Cert, files.Key = a.Issue("ann", nil)
	config, err := files.Config()
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		t.Helper()
		pair, err := config.GetClientCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.SerialNumber.Int64()
	}
	first := serial()
	a.Issue("ann", nil)
	second := serial()
	if second == first {
		t.Errorf("serial %d after renewal; want another", second)
	}
	if err := os.WriteFile(files.Key, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != second {
		t.Errorf("serial %d with a broken key; want %d", got, second)
	}
}

func TestTLSFilesAreChecked(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	cert, key := a.Issue("ann", nil)
	none := filepath.Join(t.TempDir(), "none")
	for want, f := range map[string]client.TLSFiles{
		"no such file":       {CA: none},
		"has no certificate": {CA: key},
		"both or neither":    {Cert: cert},
		"and key: " + none:   {Cert: none, Key: key},
	} {
		if _, err := f.Config(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", f, err, want)
		}
	}
}
