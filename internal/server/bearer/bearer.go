// SPDX-License-Identifier: Apache-2.0

// Package bearer proves who calls by tokens: JSON Web Tokens (RFC 7519) that an issuer has signed,
// such as an OpenID Connect provider or a Kubernetes cluster for its service accounts.
//
// A token is proof only for whom it was issued to: its audience names this daemon. So a token that
// a caller gave to another service is worth nothing here. What RFC 8725 (Best Current Practices)
// asks for is checked: only asymmetric algorithms are taken, a key is used only with the algorithms
// that fit it, and nothing in a token's header says where keys come from.
//
// No error of this package, and nothing that it logs, has any part of a token.
package bearer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// Leeway is how far the issuer's clock and the daemon's may be apart.
	Leeway = 30 * time.Second
	// MaxToken is the length of the longest token that is read, in bytes.
	MaxToken = 8 << 10
	// maxProven bounds how many tokens are remembered as proven, so that a job that makes many
	// calls has its token's signature verified once. One takes about a kilobyte at most.
	maxProven = 4096
)

// Config says whose tokens are taken.
type Config struct {
	Issuers []Issuer
	// Groups is the claim that lists the groups of whoever a token was issued to. Empty: none.
	Groups string
	// Logger takes what happens to the keys. It must be set.
	Logger *slog.Logger
	// Now is the time. Nil: time.Now.
	Now func() time.Time
}

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	config  Config
	issuers map[string]*source
	// proven has what tokens prove, by the hash of the token. Only tokens that were proven are in it,
	// so somebody without one cannot push out those of others.
	proven *lru.Cache[[sha256.Size]byte, remembered]
}

// remembered is what a token proves as long as its issuer has the keys that it had then.
type remembered struct {
	identity Identity
	times    jwt.Claims // of which only the times are set
	source   *source
	keys     *keySet
}

// Identity is what a token proves.
type Identity struct {
	// Principal is "oidc:ISSUER#SUBJECT": see principal.
	Principal string
	// Groups are those of the claim Config.Groups, each as "ISSUER#GROUP"; nil without it.
	Groups []string
	// Expiry is when the token ends to count: the leeway is in it.
	Expiry time.Time
}

// New makes a verifier. The error says which setting is wrong. Keys of issuers that give them over
// HTTPS are fetched by Run, or when the first token comes.
func New(config Config) (*Verifier, error) {
	if config.Now == nil {
		config.Now = time.Now
	}
	proven, err := lru.New[[sha256.Size]byte, remembered](maxProven)
	if err != nil {
		return nil, err
	}
	v := &Verifier{config: config, issuers: map[string]*source{}, proven: proven}
	for _, i := range config.Issuers {
		if v.issuers[i.URL] != nil {
			return nil, fmt.Errorf("issuer %q is given twice; allowed: each one once", i.URL)
		}
		if v.issuers[i.URL], err = newSource(i, config.Now, config.Logger); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Run fetches the issuers' keys, and again from time to time, until ctx ends.
func (v *Verifier) Run(ctx context.Context) {
	done := make(chan struct{})
	for _, s := range v.issuers {
		go func() { s.run(ctx); done <- struct{}{} }()
	}
	for range v.issuers {
		<-done
	}
}

// KeyAges returns, by issuer, how long ago the keys in force were confirmed by their source; since
// the start where they never were.
func (v *Verifier) KeyAges() map[string]time.Duration {
	ages := map[string]time.Duration{}
	for url, s := range v.issuers {
		ages[url] = s.age()
	}
	return ages
}

// The algorithms that are taken. None of them has a secret that the daemon would have to share with
// the issuer, so nobody can pass a public key off as such a secret.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

const algorithmsAllowed = "allowed: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA"

// Verify returns what a token proves. The error is a *Refusal.
func (v *Verifier) Verify(ctx context.Context, token string) (Identity, error) {
	if len(token) > MaxToken {
		return Identity{}, refuse("length", "it is %d bytes long; allowed: at most %d", len(token), MaxToken)
	}
	hash := sha256.Sum256([]byte(token))
	if known, ok := v.proven.Get(hash); ok && known.source.current() == known.keys {
		return known.identity, v.inTime(known.times)
	}
	parsed, err := parse(token)
	if err != nil {
		return Identity{}, err
	}
	var unproven struct {
		Issuer string `json:"iss"`
	}
	if parsed.UnsafeClaimsWithoutVerification(&unproven) != nil {
		return Identity{}, malformed()
	}
	s := v.issuers[unproven.Issuer]
	if s == nil {
		return Identity{}, refuse("issuer", "it is of another issuer, or does not say of which; allowed: %s",
			v.allowed())
	}
	header := parsed.Headers[0]
	key, keys, err := s.find(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return Identity{}, err
	}
	var claims jwt.Claims
	var all map[string]any
	if parsed.Claims(key) != nil {
		return Identity{}, refuse("signature", "its signature is wrong: it was changed, or somebody else than its "+
			"issuer %s signed it", s.URL)
	}
	if parsed.Claims(key, &claims, &all) != nil {
		return Identity{}, refuse("claims", "its claims cannot be read: one has a value of the wrong type")
	}
	identity, err := v.claimed(s.Issuer, claims, all)
	if err != nil {
		return Identity{}, err
	}
	times := jwt.Claims{Expiry: claims.Expiry, NotBefore: claims.NotBefore, IssuedAt: claims.IssuedAt}
	v.proven.Add(hash, remembered{identity, times, s, keys})
	return identity, nil
}

func (v *Verifier) allowed() string {
	var urls []string
	for url := range v.issuers {
		urls = append(urls, url)
	}
	slices.Sort(urls)
	return strings.Join(urls, ", ")
}

// parse reads a token without believing it.
func parse(token string) (*jwt.JSONWebToken, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, unparsed(token, err)
	}
	extra := parsed.Headers[0].ExtraHeaders
	if _, ok := extra["crit"]; ok {
		return nil, refuse("header", "its header demands an extension (crit); allowed: none")
	}
	if _, ok := extra["cty"]; ok {
		return nil, refuse("nested", "another token is nested in it (cty); allowed: one that its issuer signed, alone")
	}
	// RFC 8725 §3.11: what the issuer signed for another purpose, such as a notice of a logout, is no
	// token of a caller. Many issuers, Kubernetes among them, give no type.
	kind, isText := extra["typ"].(string)
	if extra["typ"] != nil && (!isText || !slices.Contains([]string{"jwt", "at+jwt", "application/at+jwt"},
		strings.ToLower(kind))) {
		return nil, refuse("type", "it is of another type; allowed: JWT and at+jwt, or none (typ)")
	}
	return parsed, nil
}

// claimed checks claims that the issuer has signed.
func (v *Verifier) claimed(i Issuer, claims jwt.Claims, all map[string]any) (Identity, error) {
	if !slices.ContainsFunc(i.Audiences, claims.Audience.Contains) {
		return Identity{}, refuse("audience", "it is not for this daemon; allowed: the audience %s; get one with "+
			"it from its issuer", strings.Join(i.Audiences, " or "))
	}
	if claims.Expiry == nil {
		return Identity{}, refuse("expiry", "it says no time at which it ends (exp); allowed: a time")
	}
	if err := v.inTime(claims); err != nil {
		return Identity{}, err
	}
	identity, err := i.Who(v.config.Groups, all)
	identity.Expiry = claims.Expiry.Time().Add(Leeway)
	return identity, err
}

// inTime checks the times of claims that the issuer has signed.
func (v *Verifier) inTime(claims jwt.Claims) error {
	now := v.config.Now()
	if ended := now.Sub(claims.Expiry.Time()); ended > Leeway {
		return refuse("expired", "it expired %v ago by this daemon's clock; get a new one from its issuer",
			ended.Truncate(time.Second))
	}
	for _, begin := range []*jwt.NumericDate{claims.NotBefore, claims.IssuedAt} {
		if begin == nil {
			continue
		}
		if wait := begin.Time().Sub(now); wait > Leeway {
			return refuse("early", "it is valid only in %v by this daemon's clock (nbf, iat); compare the clocks",
				wait.Truncate(time.Second))
		}
	}
	return nil
}
