// SPDX-License-Identifier: Apache-2.0

// Package bearertest is an issuer of tokens on loopback, for tests. It signs by hand, without the
// library that package bearer verifies with, so that a test can also make tokens that no library makes.
package bearertest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512" // for crypto.SHA384 and crypto.SHA512
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Audience is the daemon's name in the tokens of an Issuer.
const Audience = "accountant"

// Patience is how long a daemon under test waits for an Issuer, on a machine that may have much other work.
const Patience = 5 * time.Minute

// Issuer gives tokens, and its keys over HTTPS, as an OpenID Connect provider does.
type Issuer struct {
	URL  string
	CA   string // PEM file of the authority that certifies its server
	Keys string // file with its present keys

	t   testing.TB
	web *httptest.Server

	mu        sync.Mutex
	down      bool
	asked     int
	keys      []Key
	documents map[string]string // instead of what would be served
	user      string            // who logs in
	codes     map[string]url.Values
	change    func(claims map[string]any)
}

// Key is a private key with its name.
type Key struct {
	ID      string
	Private crypto.Signer
	Extra   map[string]any // members of the JSON Web Key besides those of the public key
}

// New starts an issuer with one RSA key, which stops with the test.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t, documents: map[string]string{}, codes: map[string]url.Values{}}
	i.web = httptest.NewTLSServer(i)
	t.Cleanup(i.web.Close)
	i.URL = i.web.URL
	dir := t.TempDir()
	i.CA, i.Keys = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "keys.json")
	i.write(i.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.web.Certificate().Raw}))
	i.Rotate(RSA(t, "first"))
	return i
}

func (i *Issuer) write(path string, content []byte) {
	i.t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		i.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		i.t.Fatal(err)
	}
}

var weak = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// RSA returns the RSA key of this process under a name: making one takes long.
func RSA(t testing.TB, id string) Key {
	t.Helper()
	k, err := weak()
	if err != nil {
		t.Fatal(err)
	}
	return Key{ID: id, Private: k}
}

// P256 makes a new key.
func P256(t testing.TB, id string) Key {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Key{ID: id, Private: k}
}

// Rotate replaces the keys. The first one signs.
func (i *Issuer) Rotate(keys ...Key) {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
	i.write(i.Keys, JWKS(i.t, keys...))
}

// Down has the issuer answer nothing but errors, or answer again.
func (i *Issuer) Down(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

// Serve has a path answered with content.
func (i *Issuer) Serve(path, content string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.documents[path] = content
}

// Asked returns how often the issuer was asked for its keys.
func (i *Issuer) Asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	}
	content, ok := i.documents[r.URL.Path]
	switch {
	case ok:
	case r.URL.Path == "/.well-known/openid-configuration":
		content = string(encode(i.t, map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys",
			"authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"RS256"}}))
	case r.URL.Path == "/authorize":
		i.authorize(w, r)
		return
	case r.URL.Path == "/token":
		i.exchange(w, r)
		return
	case r.URL.Path == "/keys":
		i.asked++
		content = string(JWKS(i.t, i.keys...))
	default:
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(content))
}

// JWKS returns the public keys as a JSON Web Key Set.
func JWKS(t testing.TB, keys ...Key) []byte {
	t.Helper()
	list := []any{}
	for _, k := range keys {
		list = append(list, k.public())
	}
	return encode(t, map[string]any{"keys": list})
}

func (k Key) public() map[string]any {
	m := map[string]any{"use": "sig"}
	if k.ID != "" {
		m["kid"] = k.ID
	}
	switch p := k.Private.Public().(type) {
	case *rsa.PublicKey:
		m["kty"], m["n"], m["e"] = "RSA", b64(p.N.Bytes()), b64(big.NewInt(int64(p.E)).Bytes())
	case *ecdsa.PublicKey:
		point, err := p.Bytes() // 4, x and y
		if err != nil {
			panic(err)
		}
		half := (len(point) - 1) / 2
		m["kty"], m["crv"], m["x"], m["y"] = "EC", p.Params().Name, b64(point[1:1+half]), b64(point[1+half:])
	case ed25519.PublicKey:
		m["kty"], m["crv"], m["x"] = "OKP", "Ed25519", b64(p)
	}
	for name, value := range k.Extra {
		m[name] = value
	}
	return m
}

// Claims returns the claims of a token for subject that is good for an hour.
func (i *Issuer) Claims(subject string) map[string]any {
	now := time.Now()
	return map[string]any{"iss": i.URL, "sub": subject, "aud": Audience, "iat": now.Unix(),
		"nbf": now.Unix(), "exp": now.Add(time.Hour).Unix()}
}

// Token returns a token for subject, whose claims change may alter.
func (i *Issuer) Token(subject string, change func(claims map[string]any)) string {
	i.t.Helper()
	claims := i.Claims(subject)
	if change != nil {
		change(claims)
	}
	i.mu.Lock()
	key := i.keys[0]
	i.mu.Unlock()
	return key.Token(i.t, "", nil, claims)
}

// Token signs claims by an algorithm; "" is the usual one of the key. header is added to the token's own.
func (k Key) Token(t testing.TB, algorithm string, header, claims map[string]any) string {
	t.Helper()
	if algorithm == "" {
		switch k.Private.(type) {
		case *rsa.PrivateKey:
			algorithm = "RS256"
		case *ecdsa.PrivateKey:
			algorithm = "ES256"
		default:
			algorithm = "EdDSA"
		}
	}
	h := map[string]any{"alg": algorithm, "typ": "JWT"}
	if k.ID != "" {
		h["kid"] = k.ID
	}
	for name, value := range header {
		h[name] = value
	}
	signed := b64(encode(t, h)) + "." + b64(encode(t, claims))
	signature, err := k.sign(algorithm, []byte(signed))
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + b64(signature)
}

// sign makes the signature of RFC 7518 §3.3 to §3.5 or RFC 8037.
func (k Key) sign(algorithm string, content []byte) ([]byte, error) {
	if algorithm == "EdDSA" {
		return k.Private.Sign(rand.Reader, content, crypto.Hash(0))
	}
	hash := map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512}[algorithm[2:]]
	h := hash.New()
	h.Write(content)
	switch algorithm[:2] {
	case "PS":
		return k.Private.Sign(rand.Reader, h.Sum(nil), &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash,
			Hash: hash})
	case "ES":
		private := k.Private.(*ecdsa.PrivateKey)
		r, s, err := ecdsa.Sign(rand.Reader, private, h.Sum(nil))
		if err != nil {
			return nil, err
		}
		size := (private.Params().BitSize + 7) / 8
		out := make([]byte, 2*size)
		r.FillBytes(out[:size])
		s.FillBytes(out[size:])
		return out, nil
	}
	return k.Private.Sign(rand.Reader, h.Sum(nil), hash)
}

// Raw joins parts to a token. The parts are encoded, not checked.
func Raw(parts ...[]byte) string {
	out := ""
	for n, p := range parts {
		if n > 0 {
			out += "."
		}
		out += b64(p)
	}
	return out
}

// HS256 signs claims with a secret. A daemon that took the public key for that secret would believe them.
func HS256(t testing.TB, id string, secret []byte, claims map[string]any) string {
	t.Helper()
	signed := b64(encode(t, map[string]any{"alg": "HS256", "typ": "JWT", "kid": id})) + "." + b64(encode(t, claims))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(signed))
	return signed + "." + b64(mac.Sum(nil))
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
