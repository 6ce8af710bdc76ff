// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// secure starts a server with TLS, of clients too if mutual.
func secure(t *testing.T, a *servertest.Authority, mutual bool) (*servertest.Server, *testaid.Log) {
	t.Helper()
	var files endpoint.TLSFiles
	files.Cert, files.Key = a.Issue("server", nil)
	if mutual {
		files.ClientCA = a.File
	}
	l := &testaid.Log{}
	return servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files, HTTP: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(l, nil))}}), l
}

// creator is the principal that a new ledger is recorded for; the client says that
// it is ada.
func creator(t *testing.T, target, name string, c credentials.TransportCredentials) (string, error) {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(c))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx := metadata.AppendToOutgoingContext(servertest.Context(t), server.PrincipalKey, "ada")
	answer, err := api.NewClient(conn).CreateLedger(ctx,
		&pb.CreateLedgerRequest{Spec: servertest.Spec(name)})
	return answer.GetLedger().GetPrincipal(), err
}

// With TLS everyone speaks it on TCP; who calls is still what he says.
func TestTLS(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	s, log := secure(t, a, false)
	if p, err := creator(t, s.Addr, "secure", credentials.NewTLS(a.Client(""))); err != nil || p != "unverified:ada" {
		t.Errorf("with TLS: %q, %v", p, err)
	}
	_, err := creator(t, s.Addr, "plain", insecure.NewCredentials())
	wantError(t, err, codes.Unavailable)
	_, err = creator(t, s.Addr, "stranger", credentials.NewTLS(servertest.NewAuthority(t).Client("")))
	wantError(t, err, codes.Unavailable, "unknown authority")
	// The server may log it later than the client hears of it.
	await(t, func() bool { return strings.Contains(log.String(), "TLS handshake failed") })
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: a.Client("")}}
	defer web.CloseIdleConnections()
	for _, path := range []string{"/healthz", "/metrics"} {
		wantHTTP(t, web, "https://"+s.HTTPAddr+path, http.StatusOK)
	}
	if answer, err := http.Get("http://" + s.HTTPAddr + "/healthz"); err == nil && answer.StatusCode == http.StatusOK {
		t.Error("the HTTP port speaks plain text")
	}
}

func wantHTTP(t *testing.T, web *http.Client, url string, want int) {
	t.Helper()
	answer, err := web.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != want {
		t.Errorf("%s: %d %.80q, %v; want %d", url, answer.StatusCode, body, err, want)
	}
}

// With mutual TLS the certificate's name is the principal, whatever the client says,
// and who has none is refused.
func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	s, _ := secure(t, a, true)
	uri := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for i, c := range []struct {
		certificate func(*x509.Certificate)
		want        string // "" if it is refused
	}{
		{func(*x509.Certificate) {}, "cn:client"},
		{func(c *x509.Certificate) { c.URIs = append(c.URIs, uri("spiffe://example.org/job/1")) },
			"uri:spiffe://example.org/job/1"},
		{func(c *x509.Certificate) { c.Subject.CommonName, c.EmailAddresses = "", []string{"ada@example.org"} },
			"email:ada@example.org"},
		{func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = "", []string{"job.example.org"} },
			"dns:job.example.org"},
		{func(c *x509.Certificate) { c.Subject.CommonName, c.DNSNames = "", []string{"a.example", "b.example"} }, ""},
		{func(c *x509.Certificate) { c.URIs = append(c.URIs, uri("spiffe://a/1"), uri("spiffe://a/2")) }, ""},
		{func(c *x509.Certificate) { c.Subject.CommonName = "" }, ""},
		{func(c *x509.Certificate) { c.Subject.CommonName = "ada\x1b[31m" }, ""},
		{func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, ""},
		{func(c *x509.Certificate) { c.NotAfter = c.NotBefore }, ""},
	} {
		a.Issue("client", c.certificate)
		got, err := creator(t, s.Addr, fmt.Sprintf("mutual/%d", i), credentials.NewTLS(a.Client("client")))
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%d: %q, %v; want %q", i, got, err, c.want)
		}
	}
	for name, config := range map[string]*tls.Config{"no certificate": a.Client(""),
		"of another authority": func() *tls.Config {
			other := servertest.NewAuthority(t)
			other.Issue("client", nil)
			c := a.Client("")
			c.Certificates = other.Client("client").Certificates
			return c
		}()} {
		_, err := creator(t, s.Addr, "mutual/refused", credentials.NewTLS(config))
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		wantError(t, err, codes.Unavailable)
	}
	a.Issue("client", nil)
	for name, want := range map[string]int{"": http.StatusForbidden, "client": http.StatusOK} {
		web := &http.Client{Transport: &http.Transport{TLSClientConfig: a.Client(name)}}
		wantHTTP(t, web, "https://"+s.HTTPAddr+"/metrics", want)
		wantHTTP(t, web, "https://"+s.HTTPAddr+"/healthz", http.StatusOK)
		web.CloseIdleConnections()
	}
}

// Changed files are used from the next handshake on; broken ones are not, and the
// log says so once.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	s, log := secure(t, a, true)
	a.Issue("client", nil)
	n := 0
	serial := func(config *tls.Config) (int64, error) {
		t.Helper()
		seen := int64(0)
		config = config.Clone()
		config.VerifyConnection = func(s tls.ConnectionState) error {
			seen = s.PeerCertificates[0].SerialNumber.Int64()
			return nil
		}
		n++
		_, err := creator(t, s.Addr, fmt.Sprintf("reload/%d", n), credentials.NewTLS(config))
		return seen, err
	}
	first, err := serial(a.Client("client"))
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := a.Issue("server", nil)
	second, err := serial(a.Client("client"))
	if err != nil || second == first {
		t.Errorf("renewed: serial %d after %d, %v", second, first, err)
	}
	good, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := servertest.NewAuthority(t).Issue("other", nil) // not of this key
	strange, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{[]byte("not PEM"), strange, nil} {
		if err := os.WriteFile(cert, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := serial(a.Client("client")); err != nil || got != second {
			t.Errorf("with %.9q: serial %d, %v; want %d", content, got, err, second)
		}
	}
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	before := strings.Count(log.String(), "not read again")
	for range 2 {
		if got, err := serial(a.Client("client")); err != nil || got != second {
			t.Errorf("without the file: serial %d, %v; want %d", got, err, second)
		}
	}
	if now := strings.Count(log.String(), "not read again"); now != before+1 {
		t.Errorf("logged %d times for one reason; want once\n%s", now-before, log)
	}
	if err := os.WriteFile(cert, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := serial(a.Client("client")); err != nil || got != second {
		t.Errorf("whole again: %d, %v", got, err)
	}
	b := servertest.NewAuthority(t) // another authority of clients takes over
	b.Issue("client", nil)
	content, err := os.ReadFile(b.File)
	if err != nil {
		t.Fatal(err)
	}
	old := a.Client("client")
	if err := os.WriteFile(a.File, content, 0o600); err != nil {
		t.Fatal(err)
	}
	config := a.Client("")
	config.Certificates = b.Client("client").Certificates
	if _, err := serial(config); err != nil {
		t.Errorf("of the new authority: %v", err)
	}
	if _, err := serial(old); err == nil {
		t.Error("of the old authority: taken")
	}
}

// On a socket for others the kernel says who calls, and it is not the owner's.
func TestSocketForOthers(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	path, own := filepath.Join(dir, "shared"), filepath.Join(dir, "own")
	s := servertest.StartWith(t,
		servertest.Config{Server: server.Config{Listen: []string{"unix://" + path, "127.0.0.1:0"},
			SocketMode: 0o666, SocketOwner: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), Socket: own}})
	if info, err := os.Stat(path); err != nil || info.Mode() != fs.ModeSocket|0o666 {
		t.Errorf("%v, %v; want a socket of mode 0666", info, err)
	}
	want := fmt.Sprintf("uid:%d", os.Getuid())
	if runtime.GOOS != "linux" {
		want = "unverified:ada"
	}
	for i, target := range []string{"unix:" + path, "unix:" + own} {
		if p, err := creator(t, target, fmt.Sprintf("socket/%d", i), insecure.NewCredentials()); err != nil ||
			p != want {
			t.Errorf("%s: %q, %v; want %q", target, p, err, want)
		}
		conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := api.NewClient(conn).Backup(servertest.Context(t), &pb.BackupRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		switch {
		case target == "unix:"+path:
			wantError(t, err, codes.PermissionDenied, "own socket")
		case err != nil:
			t.Errorf("the owner's backup: %v", err)
		}
		_ = conn.Close()
	}
	if p, err := creator(t, s.Addr, "socket/tcp", insecure.NewCredentials()); err != nil || p != "unverified:ada" {
		t.Errorf("TCP beside it: %q, %v", p, err)
	}
	s.Stop()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after stopping: %v; want no socket", err)
	}
}

// Stopping waits for a call that runs, but not for ever.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout time.Duration
		want    codes.Code
	}{"enough time": {time.Minute, codes.OK}, "no time": {1, codes.Unavailable}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &slowStore{Store: memory.New(memory.Config{}), enter: make(chan struct{}),
				leave: make(chan struct{})}
			s, err := server.Start(server.Config{Store: store, Listen: []string{"127.0.0.1:0"},
				DrainTimeout: c.timeout})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(servertest.Context(t))
			served, called := make(chan error, 1), make(chan error, 1)
			go func() { served <- s.Serve(ctx) }()
			go func() {
				_, err := creator(t, s.Addrs()[0], "slow", insecure.NewCredentials())
				called <- err
			}()
			<-store.enter
			stop()
			if c.want == codes.OK {
				close(store.leave)
			}
			if got := status.Code(<-called); got != c.want {
				t.Errorf("the call: %v; want %v", got, c.want)
			}
			if c.want != codes.OK {
				close(store.leave)
			}
			if err := <-served; err != nil && c.want == codes.OK {
				t.Errorf("serve: %v", err)
			}
		})
	}
}

// slowStore waits before it makes a ledger.
type slowStore struct {
	*memory.Store
	enter, leave chan struct{}
}

func (s *slowStore) Create(g ledger.Genesis) (ledger.Summary, bool, error) {
	close(s.enter)
	<-s.leave
	return s.Store.Create(g)
}
