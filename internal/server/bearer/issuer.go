// SPDX-License-Identifier: Apache-2.0

package bearer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"
)

// Issuer says whose tokens are taken, and for whom they must be.
type Issuer struct {
	// URL is the issuer, exactly as its tokens name it ("iss"). With Keys it is only a name; otherwise
	// an https URL, below which /.well-known/openid-configuration says where the keys are (OpenID
	// Connect Discovery 1.0 §4).
	URL string
	// Audiences are names of this daemon: a token must be for one of them ("aud").
	Audiences []string
	// Claim is the claim that names the caller. Empty: Subject.
	Claim string
	// Keys is a file with the issuer's public keys, a JSON Web Key Set. It is read again when it
	// changes. Empty: the issuer is asked over HTTPS.
	Keys string
	// CA is a PEM file with the authorities that certify the issuer's server, instead of the
	// system's. It is read each time that the issuer is asked.
	CA string
	// Patience bounds one question to the issuer; 10 s if 0.
	Patience time.Duration
}

const (
	maxIssuer   = 128     // bytes: the principal has room for the subject
	maxDocument = 1 << 20 // bytes
)

// AskingTime is how long one question to the issuer may take.
func (i Issuer) AskingTime() time.Duration { return cmp.Or(i.Patience, 10*time.Second) }

// newSource checks an issuer's settings. Keys in a file are read at once.
func newSource(i Issuer, now func() time.Time, logger *slog.Logger) (*source, error) {
	if i.Claim == "" {
		i.Claim = subject
	}
	s := &source{Issuer: i, now: now, logger: logger, asking: make(chan struct{}, 1),
		waiting: make(chan struct{}, MaxWaiting), confirmed: now()}
	if i.URL == "" || len(i.URL) > maxIssuer || strings.ContainsFunc(i.URL, notInIssuers) {
		return nil, fmt.Errorf("issuer %.140q; allowed: 1 to %d printable bytes without blanks, \"#\" and \"%%\"",
			i.URL,
			maxIssuer)
	}
	if len(i.Audiences) == 0 {
		return nil, fmt.Errorf("issuer %s has no audience; allowed: at least one name of this daemon, as the "+
			"issuer puts it into tokens: without it a token for any other service would count here", i.URL)
	}
	if strings.ContainsFunc(i.Claim, notInClaims) {
		return nil, fmt.Errorf("claim %q; allowed: letters, digits, and any of _ - . : /", i.Claim)
	}
	if i.Keys != "" {
		if i.CA != "" {
			return nil, fmt.Errorf("issuer %s has a file of keys and one of authorities; allowed: one of them, as "+
				"an issuer with a file of keys is never asked", i.URL)
		}
		s.local, s.read = true, s.readFile
		if err := s.start(); err != nil {
			return nil, err
		}
		return s, nil
	}
	if err := checkURL(i.URL); err != nil {
		return nil, fmt.Errorf("issuer %s: %w; or give a file with its keys", i.URL, err)
	}
	if _, err := s.Client(); err != nil {
		return nil, err
	}
	s.read = s.readIssuer
	return s, nil
}

func notInIssuers(r rune) bool {
	return r == '#' || r == '%' || r == ' ' || r > unicode.MaxASCII || !unicode.IsPrint(r)
}

func notInClaims(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.:/", r)
}

// checkURL accepts what keys may be fetched from. Over http anybody on the way could put in their own.
func checkURL(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("allowed: an https URL without a query and a fragment")
	}
	return nil
}

// where names the source of the keys in an error.
func (s *source) where() string {
	if s.local {
		return s.Keys
	}
	return s.URL
}

// start reads a file of keys before anything else needs it.
func (s *source) start() error {
	content, err := s.readFile(context.Background())
	if err != nil {
		return err
	}
	s.confirmed = s.now()
	return s.take(content)
}

// look reads the file again if it has changed, at most once a second.
func (s *source) look() {
	s.mu.Lock()
	now := s.now()
	if since := now.Sub(s.asked); since >= 0 && since < time.Second {
		s.mu.Unlock()
		return
	}
	s.asked = now
	s.mu.Unlock()
	s.renew(context.Background())
}

func (s *source) readFile(context.Context) ([]byte, error) {
	f, err := os.Open(s.Keys)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return document(f, s.Keys)
}

// document reads all of r, which must not be larger than a document may be.
func document(r io.Reader, name string) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(content) > maxDocument {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxDocument)
	}
	return bytes.TrimSpace(content), err
}

// readIssuer asks the issuer where its keys are, and for the keys.
func (s *source) readIssuer(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.AskingTime())
	defer cancel()
	web, err := s.Client()
	if err != nil {
		return nil, err
	}
	defer web.CloseIdleConnections()
	at := strings.TrimSuffix(s.URL, "/") + "/.well-known/openid-configuration"
	content, err := get(ctx, web, at)
	if err != nil {
		return nil, err
	}
	var found struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(content, &found); err != nil {
		return nil, fmt.Errorf("%s: not a JSON object", at)
	}
	if found.Issuer != s.URL { // OpenID Connect Discovery 1.0 §4.3
		return nil, fmt.Errorf("%s: is of the issuer %.140q; allowed: exactly %q", at, found.Issuer, s.URL)
	}
	if err := checkURL(found.Keys); err != nil {
		return nil, fmt.Errorf("%s: jwks_uri %.140q: %w", at, found.Keys, err)
	}
	return get(ctx, web, found.Keys)
}

func get(ctx context.Context, web *http.Client, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, application/jwk-set+json")
	answer, err := web.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: answered %d; allowed: 200", address, answer.StatusCode)
	}
	return document(answer.Body, address)
}

// Client returns an HTTP client that trusts the issuer's authorities and stays with https.
func (i Issuer) Client() (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if i.CA != "" {
		content, err := os.ReadFile(i.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("%s has no certificate; allowed: a PEM file of certificates", i.CA)
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
			DialContext: (&net.Dialer{Timeout: i.AskingTime() / 2}).DialContext, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			if len(before) > 3 || next.URL.Scheme != "https" {
				return errors.New("a redirection; allowed: at most three, to https")
			}
			return nil
		},
	}, nil
}
