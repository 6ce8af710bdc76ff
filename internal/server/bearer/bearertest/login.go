// SPDX-License-Identifier: Apache-2.0

package bearertest

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"time"
)

// Client is the name of a daemon at which people log in, and Secret its password at the Issuer.
const (
	Client = "accountant-web"
	Secret = "not a secret"
)

// Login has whoever comes to the issuer's page be user from now on. change alters the claims of ID tokens; nil
// leaves them.
func (i *Issuer) Login(user string, change func(claims map[string]any)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.user, i.change = user, change
}

// authorize is the page to which a login leads (RFC 6749 §4.1.1): it asks for no password.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != Client || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("code_challenge") == "" || q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, "not as the code flow with PKCE asks", http.StatusBadRequest)
		return
	}
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.codes[code] = q
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// exchange gives tokens for a code, once (RFC 6749 §4.1.3, RFC 7636 §4.6).
func (i *Issuer) exchange(w http.ResponseWriter, r *http.Request) {
	name, password, _ := r.BasicAuth()
	code := r.PostFormValue("code")
	asked, ok := i.codes[code]
	delete(i.codes, code)
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || name != Client || password != url.QueryEscape(Secret) ||
		r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") ||
		subtle.ConstantTimeCompare([]byte(b64(challenge[:])), []byte(asked.Get("code_challenge"))) != 1 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error": "invalid_grant", "error_description": "` + code + `"}`))
		return
	}
	claims := i.Claims(i.user)
	claims["aud"], claims["nonce"] = Client, asked.Get("nonce")
	if asked.Get("prompt") == "login" && asked.Get("max_age") != "" { // it has asked, and must say when
		claims["auth_time"] = time.Now().Unix()
	}
	if i.change != nil {
		i.change(claims)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(i.t, map[string]any{"access_token": rand.Text(), "token_type": "Bearer", "expires_in": 300,
		"id_token": i.keys[0].Token(i.t, "", nil, claims)}))
}
