// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A token's file is read again when it changes, however it is replaced; what is no token is not read.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source := client.TokenFile(path)
	want := func(name, want string) {
		t.Helper()
		if got, err := source.Token(); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	want("no file", "")
	write(path, "")
	want("an empty file", "")
	write(path, " one.two.three\n")
	want("a first token", "one.two.three")
	for n := range 20 { // in place, each of the same size and maybe of the same time
		token := fmt.Sprintf("in.place.%d", 10+n)
		write(path, token)
		want("in place", token)
	}
	write(path+".new", "renamed")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	want("renamed", "renamed")
	for _, bad := range []string{"", "two tokens", "with\x00zero", "größe", strings.Repeat("a", 9000)} {
		write(path, bad)
		want("what is no token", "renamed")
		_, err := client.TokenFile(path).Token()
		if err == nil || !strings.Contains(err.Error(), path) || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%.20q: %v; want an error that names the file and nothing of the token", bad, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want("removed", "renamed")

	// As Kubernetes does: the file is a link into a directory that is a link itself.
	for n := range 3 {
		version := filepath.Join(dir, fmt.Sprint("..version", n))
		if err := os.Mkdir(version, 0o700); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(version, "token"), fmt.Sprint("projected.", n))
		link := filepath.Join(dir, "..data")
		if err := os.Symlink(version, link+".tmp"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link+".tmp", link); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if err := os.Symlink(filepath.Join("..data", "token"), path); err != nil {
				t.Fatal(err)
			}
		}
		want("projected", fmt.Sprint("projected.", n))
	}
	for _, s := range []client.TokenSource{client.StaticToken("secret"), source} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			text := fmt.Sprintf(format, s)
			for _, hidden := range []string{"secret", "projected.2", fmt.Sprintf("%x", "secret")} {
				if strings.Contains(text, hidden) {
					t.Errorf("%s shows the token: %s", format, text)
				}
			}
		}
	}
}

// A token is sent only where nobody on the way can read it.
func TestTokenStaysPrivate(t *testing.T) {
	t.Parallel()
	token := client.StaticToken("a.b.c")
	for _, address := range []string{"192.0.2.1:7878", "accountant.example.org:7878", "0.0.0.0:7878"} {
		_, err := client.New(client.Config{Server: address, Insecure: true, Token: token})
		if err == nil || !strings.Contains(err.Error(), client.ErrTokenNotEncrypted.Error()) ||
			!errors.Is(err, client.ErrTokenNotEncrypted) {
			t.Errorf("%s: %v; want that a token needs TLS", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:7878", "[::1]:7878", "localhost:7878", "unix:/run/s"} {
		c, err := client.New(client.Config{Server: address, Token: token})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		_ = c.Close()
	}
	if _, err := client.New(client.Config{Token: client.StaticToken("")}); err == nil {
		t.Error("an empty token is taken")
	}
}

// tokens gives tokens in turn; the last one stays.
type tokens struct {
	mu   sync.Mutex
	list []string
}

func (t *tokens) Token() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.list[0], nil
}

func (t *tokens) next(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list[0] = token
}

func startTokened(t *testing.T) (*servertest.Server, *bearertest.Issuer, *endpoint.TLSFiles) {
	t.Helper()
	issuer, a := bearertest.New(t), servertest.NewAuthority(t)
	files := &endpoint.TLSFiles{ClientCA: a.File}
	files.Cert, files.Key = a.Issue("server", nil)
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: *files, Issuers: []bearer.Issuer{
		{URL: issuer.URL, Keys: issuer.Keys, Audiences: []string{bearertest.Audience}}},
		Logger: slog.New(slog.DiscardHandler)}})
	return s, issuer, files
}

// A stream goes on through the ends of its tokens: each charge is written once, in order, and by whom the
// tokens name. So do a watcher and the calls beside it.
func TestStreamThroughTokens(t *testing.T) {
	t.Parallel()
	s, issuer, files := startTokened(t)
	soon := func(c map[string]any) { c["exp"] = time.Now().Add(2*time.Second - bearer.Leeway).Unix() }
	path := filepath.Join(t.TempDir(), "token")
	renew := func(change func(map[string]any)) {
		if err := os.WriteFile(path+".new", []byte(issuer.Token("ann", change)), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Error(err)
		}
	}
	renew(nil)
	secure, err := client.TLSFiles{CA: files.ClientCA}.Config()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Server: s.Addr, TLS: secure, Token: client.TokenFile(path), Window: 64,
		BackoffMin: time.Millisecond, BackoffMax: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx := servertest.Context(t)
	if _, err := c.CreateLedger(ctx, servertest.Spec("through")); err != nil {
		t.Fatal(err)
	}
	renew(soon)
	stop := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() { // late: each token ends before the next one comes
		for {
			select {
			case <-stop:
				return
			case <-time.After(2500 * time.Millisecond):
				renew(soon)
			}
		}
	})
	seen := make(chan uint64, 1)
	go func() {
		last := uint64(0)
		for l, err := range c.Watch(ctx, "through") {
			if err != nil {
				t.Error(err)
				break
			}
			last = l.GetPosition()
		}
		seen <- last
	}()
	stream, err := c.Stream(ctx, "through")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for began := time.Now(); time.Since(began) < 5*time.Second || stream.Status().Connections < 3; {
		n++
		if err := stream.Report(ctx, servertest.Gaussian(2, 1).GetEvents(), labels(n)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		if time.Since(began) > time.Minute {
			t.Fatalf("%+v", stream.Status())
		}
	}
	if err := stream.Close(ctx); err != nil {
		t.Fatal(err)
	}
	close(stop)
	renewing.Wait()
	renew(nil)
	wantOnce(t, c, "through", n)
	for e, err := range c.Entries(ctx, "through", client.EntriesOptions{End: 1}) {
		if err != nil || e.GetPrincipal() != "oidc:"+issuer.URL+"#ann" {
			t.Errorf("%v, %v", e, err)
		}
	}
	if _, err := c.Write(ctx, "through", &pb.Close{Reason: ""}); err != nil {
		t.Fatal(err)
	}
	if last := <-seen; last != uint64(n+1) {
		t.Errorf("the watcher has seen %d entries; want %d", last, n+1)
	}
}

// A call that is refused for its token is made again once there is another one, and otherwise ends at
// once; so does a stream that was never open.
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	s, issuer, files := startTokened(t)
	secure, err := client.TLSFiles{CA: files.ClientCA}.Config()
	if err != nil {
		t.Fatal(err)
	}
	old := issuer.Token("ann", func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() })
	source := &tokens{list: []string{old}}
	c, err := client.New(client.Config{Server: s.Addr, TLS: secure, Token: source, BackoffMin: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	ctx := servertest.Context(t)
	var e *client.Error
	if _, err := c.CreateLedger(ctx, servertest.Spec("refused")); !errors.As(err, &e) ||
		e.Code != codes.Unauthenticated || !strings.Contains(e.Message, "expired") || e.Unknown {
		t.Errorf("%v", err)
	}
	if _, err := c.Stream(ctx, "refused"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("%v", err)
	}
	for _, part := range strings.Split(old, ".") {
		if strings.Contains(fmt.Sprintf("%+v %v", e, e), part) {
			t.Error("the error has a part of the token")
		}
	}
	renewed := &renewing{source, issuer.Token("ann", nil), 2}
	c2, err := client.New(client.Config{Server: s.Addr, TLS: secure, Token: renewed})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c2.Close() }()
	if _, err := c2.CreateLedger(ctx, servertest.Spec("renewed")); err != nil {
		t.Errorf("%v", err)
	}
}

// renewing gives another token after it was asked a few times.
type renewing struct {
	*tokens
	better string
	left   int
}

func (r *renewing) Token() (string, error) {
	if r.left--; r.left < 0 {
		r.next(r.better)
	}
	return r.tokens.Token()
}
