// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TokenSource provides a token that proves who calls: a JSON Web Token of an OpenID Connect provider
// or of a Kubernetes service account. It is asked before every call, by several goroutines at once, and
// should return quickly.
type TokenSource interface {
	Token() (string, error)
}

// ErrTokenNotEncrypted means that Config.Token is set, but Config.Server is on another machine and
// Config.TLS is not set. A token in plain text could be read on the way.
var ErrTokenNotEncrypted = errors.New("a token without TLS")

// maxToken is the length of the longest token that the daemon reads, in bytes.
const maxToken = 8 << 10

// tokenGrace is how long calls and streams wait for a new token after the daemon has refused the one that
// they have, if one was accepted before: whatever renews tokens may be late.
const tokenGrace = time.Minute

// TokenFile returns the token in a file. The file is read again when it has changed, as it does where
// Kubernetes renews the token of a service account. If it cannot be read then, the token that was read
// before is used.
func TokenFile(path string) TokenSource { return &tokenFile{path: path} }

// StaticToken returns a token that does not change, such as one from the environment.
func StaticToken(token string) TokenSource { return staticToken{token} }

// TokenFromEnvironment returns the token in the file that ACCOUNTANT_TOKEN_FILE names, otherwise the one
// in ACCOUNTANT_TOKEN, otherwise nil.
func TokenFromEnvironment() TokenSource {
	if path := os.Getenv("ACCOUNTANT_TOKEN_FILE"); path != "" {
		return TokenFile(path)
	}
	if token := os.Getenv("ACCOUNTANT_TOKEN"); token != "" {
		return StaticToken(token)
	}
	return nil
}

// staticToken is not a string, so that no format prints it.
type staticToken struct{ token string }

// Token implements TokenSource.
func (s staticToken) Token() (string, error) { return checkToken(s.token, "ACCOUNTANT_TOKEN") }

// Format hides the token.
func (s staticToken) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("a token")) }

type tokenFile struct {
	path string

	mu    sync.Mutex
	token string      // "" before one was read
	seen  os.FileInfo // of the file when it was read; nil if it may change unnoticed
}

// Format hides the token.
func (t *tokenFile) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("the token in " + t.path)) }

// Token implements TokenSource.
func (t *tokenFile) Token() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.path)
	if err == nil {
		if t.seen != nil && os.SameFile(info, t.seen) && info.ModTime().Equal(t.seen.ModTime()) &&
			info.Size() == t.seen.Size() {
			return t.token, nil
		}
		var token string
		if token, err = t.read(); err == nil {
			t.token, t.seen = token, info
			if time.Since(info.ModTime()) < 2*time.Second { // what is written now may get the same time
				t.seen = nil
			}
		}
	}
	if t.token != "" {
		return t.token, nil
	}
	return "", err
}

func (t *tokenFile) read() (string, error) {
	content, err := os.ReadFile(t.path)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return checkToken(strings.TrimSpace(string(content)), t.path)
}

// checkToken refuses what cannot be a token. The error has nothing of it.
func checkToken(token, where string) (string, error) {
	const allowed = "; allowed: one token, of at most 8192 letters, digits and any of - . _ ~ + / ="
	switch {
	case token == "":
		return "", fmt.Errorf("token: %s is empty%s", where, allowed)
	case len(token) > maxToken:
		return "", fmt.Errorf("token: %s has %d bytes%s", where, len(token), allowed)
	case strings.ContainsFunc(token, notInTokens):
		return "", fmt.Errorf("token: %s has other characters%s", where, allowed)
	}
	return token, nil
}

// notInTokens tells characters that RFC 6750 §2.1 does not allow.
func notInTokens(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._~+/=", r)
}

// tokenCredentials sends a token with each call.
type tokenCredentials struct {
	source TokenSource
	local  bool // the server is on this machine
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t tokenCredentials) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	token, err := t.source.Token()
	if err != nil {
		return nil, status.Error(codes.Unauthenticated, err.Error())
	}
	return map[string]string{"authorization": "Bearer " + token}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (t tokenCredentials) RequireTransportSecurity() bool { return !t.local }

// token returns the token that a call made now would send, "" if it would send none.
func (c *Client) token() string {
	if c.cfg.Token == nil {
		return ""
	}
	token, err := c.cfg.Token.Token()
	if err != nil {
		return ""
	}
	return token
}

// renewed reports whether an attempt was refused for its token and there is another one now.
func (c *Client) renewed(err error, used string) bool {
	if c.cfg.Token == nil || status.Code(err) != codes.Unauthenticated {
		return false
	}
	token := c.token()
	return token != "" && token != used
}

// awaitToken waits until there is another token than the one that was refused, or ctx or the client
// ends. It reports false if err is no such refusal, or if the time for it is over; where no token was
// accepted before, there is no time for it.
func (c *Client) awaitToken(ctx context.Context, err error, used string, accepted bool) bool {
	if c.cfg.Token == nil || status.Code(err) != codes.Unauthenticated {
		return false
	}
	for end := time.Now().Add(tokenGrace); ; c.sleep(ctx, 100*time.Millisecond) {
		if c.renewed(err, used) || c.ended(ctx) != nil {
			return true
		}
		if !accepted || !time.Now().Before(end) {
			return false
		}
	}
}
