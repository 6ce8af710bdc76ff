// SPDX-License-Identifier: Apache-2.0

package bearer_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
)

// A new key counts from its first token on, an old one until the issuer is asked next. A key that nobody
// knows has the issuer asked once in ten seconds, however many tokens name one.
func TestRotation(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	before, after := bearertest.P256(t, "before"), bearertest.P256(t, "after")
	i.Rotate(before)
	v := start(t, remote(i))
	old := i.Token("ann", nil)
	v.accept(t, "the first key", old, "oidc:"+i.URL+"#ann")
	i.Rotate(after)
	young := i.Token("ann", nil)
	v.refuse(t, "the second key, at once", young, "key", "does not have")
	v.clock.advance(11 * time.Second)
	v.accept(t, "the second key", young, "oidc:"+i.URL+"#ann")
	v.refuse(t, "the first key, which was remembered", old, "key", "has no more")
	asked := i.Asked()
	for n := range 100 {
		v.refuse(t, "nobody's key", bearertest.P256(t, fmt.Sprint("nobody", n)).Token(t, "", nil, i.Claims("ann")),
			"key", "")
	}
	if n := i.Asked() - asked; n > 1 {
		t.Errorf("the issuer was asked %d times for 100 unknown keys; want 1 at most", n)
	}
}

// While the issuer does not answer, the keys that are known count for a day, and a token with another
// key is not called false: it could not be checked.
func TestOutage(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	v := start(t, remote(i))
	i.Down(true)
	day := func(c map[string]any) { c["exp"] = time.Now().Add(48 * time.Hour).Unix() }
	token := i.Token("ann", day)
	unchecked := func(name, token string) {
		t.Helper()
		var r *bearer.Refusal
		if _, err := v.Verify(t.Context(), token); !errors.Is(err, bearer.ErrUnchecked) || !errors.As(err, &r) {
			t.Errorf("%s: %v; want that it could not be checked", name, err)
		}
	}
	unchecked("no key is known", token)
	if !strings.Contains(v.log.String(), "answered 503") {
		t.Errorf("log %q", v.log)
	}
	i.Down(false)
	v.clock.advance(11 * time.Second)
	v.accept(t, "the issuer is back", token, "oidc:"+i.URL+"#ann")
	i.Down(true)
	v.clock.advance(23 * time.Hour)
	v.accept(t, "a known key", i.Token("bob", day), "oidc:"+i.URL+"#bob")
	unchecked("an unknown key", bearertest.P256(t, "new").Token(t, "", nil, i.Claims("ann")))
	v.clock.advance(2 * time.Hour)
	unchecked("a key that was known a day ago", token)
	i.Down(false)
	v.clock.advance(11 * time.Second)
	v.accept(t, "the issuer is back again", token, "oidc:"+i.URL+"#ann")
}

// Run asks at the start, and ends when it is told to.
func TestRun(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	v := start(t, remote(i))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { v.Run(ctx); close(ended) }()
	for range 10_000 {
		if strings.Contains(v.log.String(), "keys were read") {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	if i.Asked() != 1 || v.KeyAges()[i.URL] > time.Minute {
		t.Errorf("asked %d times, age %v", i.Asked(), v.KeyAges())
	}
}

// The age of keys in a file says how long ago the file was read, also where no tokens come.
func TestAgeOfAKeyFile(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	v := start(t, bearer.Issuer{URL: i.URL, Keys: i.Keys, Audiences: []string{bearertest.Audience}})
	v.clock.advance(2 * time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { v.Run(ctx); close(ended) }()
	for range 10_000 {
		if v.KeyAges()[i.URL] < time.Minute {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	if age := v.KeyAges()[i.URL]; age > time.Minute {
		t.Errorf("age %v of a file that is there", age)
	}
}

// Whatever an issuer serves that is no set of good public keys leaves those before in force.
func TestBadKeys(t *testing.T) {
	t.Parallel()
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	weak := bearertest.Key{ID: "weak", Private: small}
	sound := bearertest.P256(t, "sound")
	key := func(members string) string { return `{"keys":[{` + members + `}]}` }
	for name, c := range map[string]struct{ keys, says string }{
		"no JSON":             {"<html>", "not a JSON Web Key Set"},
		"no keys":             {`{"keys":[]}`, "no key that can verify"},
		"a small RSA key":     {string(bearertest.JWKS(t, weak)), "RSA key of 1024 bits"},
		"a secret":            {key(`"kty":"oct","kid":"weak","k":"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"`), "secret"},
		"a key to encrypt":    {string(bearertest.JWKS(t, with(sound, "use", "enc"))), "not for signatures"},
		"an unknown type":     {key(`"kty":"LATTICE","kid":"weak"`), "unknown"},
		"an unknown curve":    {key(`"kty":"OKP","crv":"Ed448","kid":"weak","x":"AAAA"`), "unknown"},
		"a point off a curve": {key(`"kty":"EC","crv":"P-256","kid":"weak","x":"AAAA","y":"AAAA"`), "broken"},
		"an exponent of 1": {key(`"kty":"RSA","kid":"weak","n":"` + strings.Repeat("A_", 200) + `","e":"AQ"`),
			"broken"},
		"101 keys": {`{"keys":[` + strings.Repeat(`{},`, 100) + `{}]}`, "101 keys"},
		"2 MB":     {`{"keys":[` + strings.Repeat(" ", 2<<20) + `]}`, "larger than 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := bearertest.New(t)
			v := start(t, remote(i))
			v.accept(t, "before", i.Token("ann", nil), "oidc:"+i.URL+"#ann")
			i.Serve("/keys", c.keys)
			v.clock.advance(11 * time.Second)
			_, err := v.Verify(t.Context(), weak.Token(t, "", nil, i.Claims("ann")))
			if !errors.Is(err, bearer.ErrUnchecked) {
				t.Errorf("%v", err)
			}
			if !strings.Contains(v.log.String(), c.says) {
				t.Errorf("log %.300q; want %q", v.log, c.says)
			}
			v.accept(t, "after", i.Token("ann", nil), "oidc:"+i.URL+"#ann")
		})
	}
	t.Run("good ones among bad ones", func(t *testing.T) {
		t.Parallel()
		i := bearertest.New(t)
		i.Rotate(sound, weak)
		v := start(t, remote(i))
		v.accept(t, "the good one", i.Token("ann", nil), "oidc:"+i.URL+"#ann")
		v.refuse(t, "the bad one", weak.Token(t, "", nil, i.Claims("ann")), "key", "")
	})
	t.Run("one key without a name", func(t *testing.T) {
		t.Parallel()
		i := bearertest.New(t)
		i.Rotate(bearertest.P256(t, ""))
		v := start(t, remote(i))
		v.accept(t, "without a name", i.Token("ann", nil), "oidc:"+i.URL+"#ann")
	})
}

func with(k bearertest.Key, name string, value any) bearertest.Key {
	k.Extra = map[string]any{name: value}
	return k
}

// The issuer's own word about where its keys are is checked before it is followed.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bearertest.JWKS(t, bearertest.RSA(t, "first")))
	}))
	t.Cleanup(plain.Close)
	for name, c := range map[string]struct {
		found func(i *bearertest.Issuer) map[string]any
		says  string
	}{
		"another issuer": {func(i *bearertest.Issuer) map[string]any {
			return map[string]any{"issuer": "https://x", "jwks_uri": i.URL + "/keys"}
		}, "exactly"},
		"keys over http": {func(i *bearertest.Issuer) map[string]any {
			return map[string]any{"issuer": i.URL, "jwks_uri": plain.URL}
		}, "https URL"},
		"keys in a file": {func(i *bearertest.Issuer) map[string]any {
			return map[string]any{"issuer": i.URL, "jwks_uri": "file:///etc/passwd"}
		}, "https URL"},
		"no keys": {func(i *bearertest.Issuer) map[string]any { return map[string]any{"issuer": i.URL} }, "https URL"},
		"keys not there": {func(i *bearertest.Issuer) map[string]any {
			return map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/no"}
		}, "answered 404"},
		"not a JSON object": {func(*bearertest.Issuer) map[string]any { return nil }, "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := bearertest.New(t)
			document := []byte("<html>")
			if m := c.found(i); m != nil {
				var err error
				if document, err = json.Marshal(m); err != nil {
					t.Fatal(err)
				}
			}
			i.Serve("/.well-known/openid-configuration", string(document))
			v := start(t, remote(i))
			if _, err := v.Verify(t.Context(), i.Token("ann", nil)); !errors.Is(err, bearer.ErrUnchecked) {
				t.Errorf("%v", err)
			}
			if !strings.Contains(v.log.String(), c.says) {
				t.Errorf("log %q; want %q", v.log, c.says)
			}
		})
	}
	t.Run("a redirection to http", func(t *testing.T) {
		t.Parallel()
		i := bearertest.New(t)
		away := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
		t.Cleanup(away.Close)
		i.Serve("/.well-known/openid-configuration", fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, i.URL, away.URL))
		v := start(t, remote(i)) // httptest's servers share a certificate
		if _, err := v.Verify(t.Context(), i.Token("ann", nil)); !errors.Is(err, bearer.ErrUnchecked) {
			t.Errorf("%v", err)
		}
		if !strings.Contains(v.log.String(), "redirection") {
			t.Errorf("log %q", v.log)
		}
	})
	t.Run("a server that nobody certifies", func(t *testing.T) {
		t.Parallel()
		i := bearertest.New(t)
		v := start(t, bearer.Issuer{URL: i.URL, Audiences: []string{bearertest.Audience}})
		if _, err := v.Verify(t.Context(), i.Token("ann", nil)); !errors.Is(err, bearer.ErrUnchecked) {
			t.Errorf("%v", err)
		}
		if !strings.Contains(v.log.String(), "certificate") {
			t.Errorf("log %q", v.log)
		}
	})
}

// An issuer that does not answer holds nobody up for longer than the call may take.
func TestSilentIssuer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	silent := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	i := bearertest.New(t)
	issuer := remote(i)
	issuer.URL = silent.URL
	v := start(t, issuer)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ended := make(chan error, 20)
	for range cap(ended) {
		go func() {
			_, err := v.Verify(ctx, i.Token("ann", func(c map[string]any) { c["iss"] = silent.URL }))
			ended <- err
		}()
	}
	for range cap(ended) {
		select {
		case err := <-ended:
			if !errors.Is(err, bearer.ErrUnchecked) {
				t.Errorf("%v", err)
			}
		case <-time.After(bearertest.Patience / 2): // below the time that the issuer has
			t.Fatal("a call waits for the issuer beyond its end")
		}
	}
}

// While an issuer is silent, few calls wait for it: anybody may send a token that names a key of their
// own, and each call that waits takes memory. The others are told at once to come again.
func TestFewWaitForASilentIssuer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	silent := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	i := bearertest.New(t)
	issuer := remote(i)
	issuer.URL = silent.URL
	v := start(t, issuer)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 300)
	for range cap(ended) {
		go func() {
			_, err := v.Verify(ctx, i.Token("ann", func(c map[string]any) { c["iss"] = silent.URL }))
			ended <- err
		}()
	}
	for n := range cap(ended) {
		if n == cap(ended)-bearer.MaxWaiting {
			cancel() // the rest may wait
		}
		select {
		case err := <-ended:
			if !errors.Is(err, bearer.ErrUnchecked) {
				t.Errorf("%v", err)
			}
		case <-time.After(bearertest.Patience / 2): // below the time that the issuer has
			t.Fatalf("%d of %d calls wait for the issuer", cap(ended)-n, cap(ended))
		}
	}
}

// Keys in a file are read again when it changes; a broken one leaves those before in force.
func TestKeyFile(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	first, second := bearertest.P256(t, "first"), bearertest.P256(t, "second")
	i.Rotate(first)
	i.Down(true)
	v := start(t, bearer.Issuer{URL: "https://cluster.local", Keys: i.Keys, Audiences: []string{bearertest.Audience}})
	token := func(k bearertest.Key) string {
		c := i.Claims("system:serviceaccount:ml:trainer")
		c["iss"] = "https://cluster.local"
		return k.Token(t, "", nil, c)
	}
	const want = "oidc:https://cluster.local#system:serviceaccount:ml:trainer"
	v.accept(t, "the first key", token(first), want)
	i.Rotate(second)
	v.clock.advance(2 * time.Second)
	v.accept(t, "the second key", token(second), want)
	v.refuse(t, "the first key, which was remembered", token(first), "key", "has no more")
	if err := os.WriteFile(i.Keys, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	v.clock.advance(2 * time.Second)
	v.accept(t, "with a broken file", token(second), want)
	if !strings.Contains(v.log.String(), "not a JSON Web Key Set") {
		t.Errorf("log %q", v.log)
	}
	if err := os.Remove(i.Keys); err != nil {
		t.Fatal(err)
	}
	v.clock.advance(2 * time.Second)
	v.accept(t, "without the file", token(second), want)
	if n := i.Asked(); n != 0 {
		t.Errorf("the issuer was asked %d times; want never", n)
	}
}

// Settings with which a token would prove less than it seems to are refused at the start.
func TestConfig(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	aud := []string{"accountant"}
	missing := filepath.Join(t.TempDir(), "missing")
	for says, issuers := range map[string][]bearer.Issuer{
		"no audience":             {{URL: i.URL}},
		"given twice":             {remote(i), remote(i)},
		"1 to 128 printable":      {{Audiences: aud}},
		"https URL":               {{URL: "http://issuer.example.org", Audiences: aud}},
		"without a query":         {{URL: "https://issuer.example.org?x=y", Audiences: aud}},
		"without blanks":          {{URL: "https://issuer.example.org#a", Keys: i.Keys, Audiences: aud}},
		"allowed: letters":        {{URL: "https://issuer.example.org", Claim: "a b", Audiences: aud}},
		"one of them":             {{URL: "https://issuer.example.org", Keys: i.Keys, CA: i.CA, Audiences: aud}},
		"no such file":            {{URL: "https://issuer.example.org", Keys: missing, Audiences: aud}},
		"not a JSON Web Key Set":  {{URL: "https://issuer.example.org", Keys: i.CA, Audiences: aud}},
		"has no certificate":      {{URL: "https://issuer.example.org", CA: i.Keys, Audiences: aud}},
		"or give a file with its": {{URL: "cluster", Audiences: aud}},
	} {
		_, err := bearer.New(bearer.Config{Issuers: issuers, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
}

// FuzzVerify verifies anything but what the issuer has signed: it is always refused, and never quoted.
func FuzzVerify(f *testing.F) {
	i := bearertest.New(f)
	good := i.Token("ann", nil)
	f.Add(good)
	f.Add("a.b.c")
	f.Add(bearertest.Raw([]byte(`{"alg":"none"}`), []byte(`{"iss":"`+i.URL+`"}`), nil))
	f.Add(bearertest.Raw([]byte(`{"alg":"RS256","kid":"first","x5c":[1]}`), []byte(`{"iss":"`+i.URL+`"}`), []byte("x")))
	v, err := bearer.New(bearer.Config{Logger: slog.New(slog.DiscardHandler), Issuers: []bearer.Issuer{
		{URL: i.URL, Keys: i.Keys, Audiences: []string{bearertest.Audience}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if strings.Join(strings.Fields(token), "") == good {
			return
		}
		got, err := v.Verify(t.Context(), token)
		if err == nil && got.Principal != "oidc:"+i.URL+"#ann" || err != nil && !errors.Is(err, bearer.ErrRefused) {
			t.Fatalf("%+v, %v", got, err)
		}
		if len(token) > 20 && err != nil && strings.Contains(err.Error(), token) {
			t.Fatalf("%q quotes the token", err)
		}
	})
}

// BenchmarkVerify verifies a token for the first time and again.
func BenchmarkVerify(b *testing.B) {
	i := bearertest.New(b)
	v, err := bearer.New(bearer.Config{Logger: slog.New(slog.DiscardHandler), Issuers: []bearer.Issuer{
		{URL: i.URL, Keys: i.Keys, Audiences: []string{bearertest.Audience}}}})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		key  bearertest.Key
	}{{"RS256", bearertest.RSA(b, "first")}, {"ES256", bearertest.P256(b, "p256")}} {
		i.Rotate(c.key)
		b.Run(c.name+"/again", func(b *testing.B) {
			token := i.Token("ann", nil)
			time.Sleep(time.Second) // the file is looked at once a second
			for b.Loop() {
				if _, err := v.Verify(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/first", func(b *testing.B) {
			tokens := make([]string, 6000) // more than are remembered
			for n := range tokens {
				tokens[n] = i.Token(fmt.Sprint("ann", n), nil)
			}
			n := 0
			for b.Loop() {
				if _, err := v.Verify(b.Context(), tokens[n%len(tokens)]); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
