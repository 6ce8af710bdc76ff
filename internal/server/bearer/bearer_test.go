// SPDX-License-Identifier: Apache-2.0

package bearer_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// clock is a time that a test sets.
type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// verifier has a log and a clock of its own.
type verifier struct {
	*bearer.Verifier
	log   *testaid.Log
	clock *clock
}

func start(t *testing.T, issuers ...bearer.Issuer) verifier {
	t.Helper()
	v := verifier{log: &testaid.Log{}, clock: &clock{}}
	var err error
	v.Verifier, err = bearer.New(bearer.Config{Issuers: issuers, Groups: "groups", Now: v.clock.now,
		Logger: slog.New(slog.NewTextHandler(v.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func remote(i *bearertest.Issuer) bearer.Issuer {
	return bearer.Issuer{URL: i.URL, CA: i.CA, Audiences: []string{bearertest.Audience}, Patience: bearertest.Patience}
}

// accept fails the test unless a token proves to be of want.
func (v verifier) accept(t *testing.T, name, token, want string) {
	t.Helper()
	got, err := v.Verify(t.Context(), token)
	if err != nil || got.Principal != want {
		t.Errorf("%s: %q, %v; want %q", name, got.Principal, err, want)
	}
	v.clean(t, name, token, err)
}

// refuse fails the test unless a token is refused by a check, in one sentence that has says.
func (v verifier) refuse(t *testing.T, name, token, check, says string) {
	t.Helper()
	got, err := v.Verify(t.Context(), token)
	var r *bearer.Refusal
	if !errors.As(err, &r) {
		t.Errorf("%s: %+v, %v; want a refusal", name, got, err)
		return
	}
	if r.Check != check || !strings.Contains(err.Error(), says) || strings.ContainsAny(err.Error(), "\n") {
		t.Errorf("%s: check %q, %q; want check %q, and %q in the text", name, r.Check, err, check, says)
	}
	v.clean(t, name, token, err)
}

// clean fails the test if a part of a token is in an error or in the log.
func (v verifier) clean(t *testing.T, name, token string, err error) {
	t.Helper()
	for _, part := range strings.Split(token, ".") {
		if len(part) < 8 {
			continue
		}
		for _, text := range []string{fmt.Sprint(err), v.log.String()} {
			if strings.Contains(text, part) || strings.Contains(text, part[len(part)-8:]) {
				t.Errorf("%s: a part of the token is in %.300q", name, text)
			}
		}
	}
}

// All that is signed as it should be is taken, by each algorithm, and names the one whom the issuer meant.
func TestAccepted(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	p256 := bearertest.P256(t, "p256")
	p384 := bearertest.Key{ID: "p384", Private: ec(t, elliptic.P384())}
	p521 := bearertest.Key{ID: "p521", Private: ec(t, elliptic.P521())}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ed := bearertest.Key{ID: "ed", Private: private}
	first := bearertest.RSA(t, "first")
	i.Rotate(first, p256, p384, p521, ed)
	v := start(t, remote(i))
	for algorithm, key := range map[string]bearertest.Key{"RS256": first, "RS384": first, "RS512": first,
		"PS256": first, "PS384": first, "PS512": first, "ES256": p256, "ES384": p384, "ES512": p521, "EdDSA": ed} {
		v.accept(t, algorithm, key.Token(t, algorithm, nil, i.Claims("ann")), "oidc:"+i.URL+"#ann")
	}
	if n := i.Asked(); n != 1 {
		t.Errorf("the issuer was asked %d times; want 1", n)
	}
	for _, c := range []struct {
		name, subject string
		change        func(map[string]any)
		want          string
	}{
		{"several audiences", "ann", func(c map[string]any) { c["aud"] = []string{"other", bearertest.Audience} },
			"ann"},
		{"Kubernetes", "system:serviceaccount:ml:trainer", nil, "system:serviceaccount:ml:trainer"},
		{"Auth0", "auth0|5f7c8ec7c33c6c004bbafe82", nil, "auth0|5f7c8ec7c33c6c004bbafe82"},
		{"what could be taken for another", "a#b=c%d *", nil, "a%23b%3Dc%25d%20%2A"},
		{"not ASCII", "größe\n", nil, "gr%C3%B6%C3%9Fe%0A"},
		{"expired a moment ago", "ann", func(c map[string]any) { c["exp"] = time.Now().Add(-20 * time.Second).Unix() },
			"ann"},
		{"a clock that is ahead", "ann", func(c map[string]any) {
			c["iat"], c["nbf"] = time.Now().Add(20*time.Second).Unix(), time.Now().Add(20*time.Second).Unix()
		}, "ann"},
		{"without times but the end", "ann", func(c map[string]any) { delete(c, "iat"); delete(c, "nbf") }, "ann"},
		{"a far end", "ann", func(c map[string]any) { c["exp"] = 1 << 61 }, "ann"},
	} {
		v.accept(t, c.name, i.Token(c.subject, c.change), "oidc:"+i.URL+"#"+c.want)
	}
	v.accept(t, "RFC 9068", first.Token(t, "", map[string]any{"typ": "at+JWT"}, i.Claims("ann")), "oidc:"+i.URL+"#ann")
}

func ec(t *testing.T, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Each way to be somebody else is refused, with a sentence that says which check failed.
func TestRefused(t *testing.T) {
	t.Parallel()
	i, other := bearertest.New(t), bearertest.New(t)
	p256 := bearertest.P256(t, "p256")
	first := bearertest.RSA(t, "first")
	i.Rotate(first, p256, bearertest.Key{ID: "ps-only", Private: first.Private, Extra: map[string]any{"alg": "PS256"}})
	v := start(t, remote(i))
	good := i.Token("ann", nil)
	parts := strings.Split(good, ".")
	claim := func(name string, value any) string {
		return i.Token("ann", func(c map[string]any) {
			if c[name] = value; value == nil {
				delete(c, name)
			}
		})
	}
	with := func(header map[string]any) string { return first.Token(t, "", header, i.Claims("ann")) }
	public, err := x509.MarshalPKIXPublicKey(first.Private.Public())
	if err != nil {
		t.Fatal(err)
	}
	text := func(v any) []byte {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	none := func(algorithm string) string {
		return bearertest.Raw(text(map[string]any{"alg": algorithm, "kid": "first"}), text(i.Claims("ann")), nil)
	}
	stranger := bearertest.P256(t, "first")
	other.Rotate(bearertest.P256(t, "p256"))
	long := i.Token(strings.Repeat("a", 100<<10), nil)
	for _, c := range []struct{ name, token, check, says string }{
		{"nothing", "", "form", "three parts"},
		{"garbage", "Zm9vYmFyYmF6cXV4", "form", "three parts"},
		{"two parts", parts[0] + "." + parts[1], "form", "three parts"},
		{"five parts", strings.Repeat(parts[0]+".", 4) + parts[0], "form", "encrypted"},
		{"no base64", "!!!." + parts[1] + "." + parts[2], "form", "three parts"},
		{"a header that is no object", bearertest.Raw([]byte("[]"), []byte("{}"), []byte("x")), "form", ""},
		{"claims that are no object", bearertest.Raw([]byte(`{"alg":"RS256"}`), []byte(`"a"`), []byte("x")), "form",
			""},
		{"JSON", `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "form",
			""},
		{"two algorithms", bearertest.Raw([]byte(`{"alg":"RS256","alg":"none","kid":"first"}`), text(i.Claims("ann")),
			nil),
			"form", ""},
		{"an algorithm that is a number", bearertest.Raw([]byte(`{"alg":1}`), []byte(`{}`), nil), "", ""},
		{"100 kB long", long, "length", "at most 8192"},

		{"no signature", parts[0] + "." + parts[1] + ".", "signature", "its signature is wrong"},
		{"alg none", none("none"), "algorithm", "no signature"},
		{"alg NoNe", none("NoNe"), "algorithm", "no signature"},
		{"no alg", none(""), "algorithm", "RS256"},
		{"HMAC with the public key", bearertest.HS256(t, "first", public, i.Claims("ann")), "algorithm", "RS256"},
		{"HMAC with the public key as PEM", bearertest.HS256(t, "first",
			pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), i.Claims("ann")), "algorithm", "RS256"},
		{"changed claims", parts[0] + "." + strings.Split(i.Token("bob", nil), ".")[1] + "." + parts[2], "signature",
			""},
		{"changed header", strings.Split(with(map[string]any{"x": 1}), ".")[0] + "." + parts[1] + "." + parts[2],
			"signature", ""},
		{"another's key", func() string {
			k := bearertest.Key{ID: "p256", Private: bearertest.P256(t, "").Private}
			return k.Token(t, "", nil, i.Claims("ann"))
		}(), "signature", "somebody else"},
		{"a key of another kind", stranger.Token(t, "", nil, i.Claims("ann")), "algorithm",
			"not that of its issuer's key"},
		{"an algorithm that the key is not for", bearertest.Key{ID: "ps-only", Private: first.Private}.Token(t, "RS256",
			nil,
			i.Claims("ann")), "algorithm", "not that of its issuer's key"},
		{"an unknown key", bearertest.P256(t, "unknown").Token(t, "", nil, i.Claims("ann")), "key", "does not have"},
		{"no key's name", bearertest.RSA(t, "").Token(t, "", nil, i.Claims("ann")), "key", "several"},
		{"a path for a name", bearertest.P256(t, "../../../../etc/passwd").Token(t, "", nil, i.Claims("ann")), "key",
			""},
		{"its own key in the header", stranger.Token(t, "", map[string]any{"kid": "own", "jwk": publicOf(t, stranger)},
			i.Claims("ann")), "key", ""},
		{"a place of keys in the header", bearertest.P256(t, "first").Token(t, "",
			map[string]any{"jku": other.URL + "/keys", "kid": "own"}, i.Claims("ann")), "key", ""},

		{"a demand", with(map[string]any{"crit": []string{"exp"}, "exp": 1}), "header", "crit"},
		{"a payload that is not encoded", with(map[string]any{"crit": []string{"b64"}, "b64": false}), "header",
			"crit"},
		{"nested", with(map[string]any{"cty": "JWT"}), "nested", "nested"},
		{"a notice of a logout", with(map[string]any{"typ": "logout+jwt"}), "type", "JWT and at+jwt"},
		{"a type that is no text", with(map[string]any{"typ": 7}), "type", ""},

		{"another issuer", other.Token("ann", nil), "issuer", i.URL},
		{"another issuer that says it is this one", other.Token("ann", func(c map[string]any) { c["iss"] = i.URL }),
			"signature", ""},
		{"the issuer with a slash", claim("iss", i.URL+"/"), "issuer", i.URL},
		{"no issuer", claim("iss", nil), "issuer", i.URL},
		{"an issuer that is no text", claim("iss", []string{i.URL}), "form", ""},
		{"another audience", claim("aud", "billing"), "audience", "the audience accountant"},
		{"several other audiences", claim("aud", []string{"billing", "accountants", "Accountant"}), "audience", ""},
		{"no audience", claim("aud", nil), "audience", ""},
		{"an empty list of audiences", claim("aud", []string{}), "audience", ""},
		{"an audience that is a number", claim("aud", 7), "claims", "wrong type"},

		{"expired", claim("exp", time.Now().Add(-time.Minute).Unix()), "expired", "expired 1m"},
		{"no end", claim("exp", nil), "expiry", "exp"},
		{"an end that is no number", claim("exp", "tomorrow"), "claims", ""},
		{"an end beyond all time", claim("exp", 1e300), "claims", ""},
		{"an end long before", claim("exp", -1<<61), "expired", ""},
		{"not yet valid", claim("nbf", time.Now().Add(90*time.Second).Unix()), "early", "valid only in 1m"},
		{"issued in the future", claim("iat", time.Now().Add(time.Hour).Unix()), "early", ""},

		{"no subject", claim("sub", nil), "subject", `"sub"`},
		{"an empty subject", claim("sub", ""), "subject", `"sub"`},
		{"a subject that is a number", claim("sub", 0), "claims", ""},
		{"a long subject", claim("sub", strings.Repeat("a", 256)), "subject", "too long"},
		{"groups that are no list", claim("groups", map[string]any{}), "groups", ""},
		{"groups that are no texts", claim("groups", []any{"a", 1}), "groups", ""},
	} {
		if c.check == "" { // whichever; it is refused
			if got, err := v.Verify(t.Context(), c.token); !errors.Is(err, bearer.ErrRefused) {
				t.Errorf("%s: %+v, %v; want a refusal", c.name, got, err)
			}
			continue
		}
		v.refuse(t, c.name, c.token, c.check, c.says)
	}
	v.accept(t, "and the good one", good, "oidc:"+i.URL+"#ann")
	if n := i.Asked(); n > 2 {
		t.Errorf("the issuer was asked %d times; want 2 at most", n)
	}
}

func publicOf(t *testing.T, k bearertest.Key) map[string]any {
	t.Helper()
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal(bearertest.JWKS(t, k), &set); err != nil {
		t.Fatal(err)
	}
	return set.Keys[0]
}

// Two issuers cannot name each other's people, and another claim than the subject is another name.
func TestPrincipals(t *testing.T) {
	t.Parallel()
	i, other := bearertest.New(t), bearertest.New(t)
	mail := remote(other)
	mail.Claim = "email"
	v := start(t, remote(i), mail)
	v.accept(t, "a subject like another's name", i.Token(other.URL+"#email=ann", nil),
		"oidc:"+i.URL+"#"+strings.ReplaceAll(other.URL, "#", "")+"%23email%3Dann")
	verified := func(value any) func(map[string]any) {
		return func(c map[string]any) { c["email"], c["email_verified"] = "ann@example.org", value }
	}
	v.accept(t, "an address", other.Token("7", verified(true)), "oidc:"+other.URL+"#email=ann@example.org")
	v.refuse(t, "an address that was not verified", other.Token("7", verified(false)), "subject", "email_verified")
	v.refuse(t, "an address that may be verified", other.Token("7", verified(nil)), "subject", "email_verified")
	v.refuse(t, "no address", other.Token("7", nil), "subject", `"email"`)
	got, err := v.Verify(t.Context(), i.Token("ann", func(c map[string]any) { c["groups"] = []string{"ml", "a b"} }))
	if err != nil || fmt.Sprint(got.Groups) != fmt.Sprintf("[%[1]s#ml %[1]s#a%%20b]", i.URL) {
		t.Errorf("groups %q, %v", got.Groups, err)
	}
}

// A token that was proven is remembered, but neither beyond its end nor when the clock goes back.
func TestRemembered(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	v := start(t, remote(i))
	token := i.Token("ann", nil)
	for range 3 {
		v.accept(t, "again", token, "oidc:"+i.URL+"#ann")
	}
	got, err := v.Verify(t.Context(), token)
	if left := time.Until(got.Expiry); err != nil || left < time.Hour || left > time.Hour+bearer.Leeway {
		t.Errorf("it counts for %v, %v; want an hour and the leeway", left, err)
	}
	v.clock.advance(-time.Hour)
	v.refuse(t, "before it began", token, "early", "")
	v.clock.advance(time.Hour + time.Hour)
	v.accept(t, "at its end", token, "oidc:"+i.URL+"#ann")
	v.clock.advance(bearer.Leeway + time.Second)
	v.refuse(t, "beyond its end", token, "expired", "expired 3")
}
