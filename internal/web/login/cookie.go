// SPDX-License-Identifier: Apache-2.0

package login

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// maxCookie is what browsers keep of a cookie, its name and attributes included (RFC 6265 §6.1), less these.
const maxCookie = 3800

// minKey is the least length of a key, in bytes.
const minKey = 32

// seal encrypts and authenticates cookies, and makes the tokens of forms with a key of their own.
type seal struct {
	cipher.AEAD
	forms []byte
}

func newSeal(key []byte) (seal, error) {
	if len(key) < minKey {
		return seal{}, fmt.Errorf("the key has %d bytes; allowed: at least %d random ones", len(key), minKey)
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "accountant: cookies", 32)
	if err != nil {
		return seal{}, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return seal{}, err
	}
	forms, err := hkdf.Key(sha256.New, key, nil, "accountant: forms", 32)
	if err != nil {
		return seal{}, err
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	return seal{gcm, forms}, err
}

// token is that of a session's forms.
func (l *Login) token(session string) string {
	h := hmac.New(sha256.New, l.seal.forms)
	h.Write(l.bound("form " + session))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// name returns a cookie's name. With the prefix browsers take it only over TLS, from the daemon's own host,
// so that no other host of its domain can put one in (RFC 6265bis §4.1.3.2).
func (l *Login) name(kind string) string {
	if l.URL.Scheme == "https" {
		return "__Host-accountant-" + kind
	}
	return "accountant-" + kind
}

// put has a browser keep v until a time.
func (l *Login) put(w http.ResponseWriter, kind string, v any, until time.Time, site http.SameSite) error {
	plain, err := json.Marshal(v)
	if err != nil {
		return err
	}
	value := base64.RawURLEncoding.EncodeToString(l.seal.Seal(nil, nil, plain, l.bound(kind)))
	if len(value) > maxCookie {
		return fmt.Errorf("the cookie would have %d bytes; allowed: %d", len(value), maxCookie)
	}
	seconds := int((until.Sub(l.Now()) + time.Second - 1) / time.Second)
	http.SetCookie(w, &http.Cookie{Name: l.name(kind), Value: value, Path: "/", MaxAge: seconds, Secure: true,
		HttpOnly: true, SameSite: site})
	return nil
}

// bound is what a cookie is authenticated with besides its content: its kind, so that a cookie of one kind cannot
// be given for another, and where people log in to what, so that daemons that share a key but not these, such as
// one for tests, do not take each other's cookies.
func (l *Login) bound(kind string) []byte {
	return fmt.Appendf(nil, "%q %q %q %q", kind, l.Issuer.URL, l.Client, l.URL.Scheme+"://"+l.URL.Host)
}

// get reads what put has a browser keep, and reports whether it was there, once, and unchanged.
func (l *Login) get(r *http.Request, kind string, v any) bool {
	cookies := r.CookiesNamed(l.name(kind))
	if len(cookies) != 1 {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookies[0].Value)
	if err != nil {
		return false
	}
	plain, err := l.seal.Open(nil, nil, sealed, l.bound(kind))
	return err == nil && json.Unmarshal(plain, v) == nil
}

func (l *Login) clear(w http.ResponseWriter, kind string) {
	http.SetCookie(w, &http.Cookie{Name: l.name(kind), Path: "/", MaxAge: -1, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
}
