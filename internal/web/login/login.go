// SPDX-License-Identifier: Apache-2.0

// Package login lets people log in at an OpenID Connect provider, by its code flow with PKCE (RFC 7636),
// state and nonce. Whoever has logged in has a session: a cookie that only the daemon can read and make.
//
// Nothing about a session is kept but which ones have been ended, so daemons that share a key share sessions.
// A session proves the principal that a token of the same person proves.
package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/inside"
	"github.com/dpaccountant/accountant/internal/web/bounds"
)

// Paths of the handler.
const (
	Path         = "/login"
	callbackPath = "/login/callback"
	LogoutPath   = "/logout"
)

const (
	// sessionTime is how long a session lasts. Then the issuer is asked again, which notices who was locked out.
	sessionTime = time.Hour
	// freshTime is how old a login may be for what cannot be undone: time to read what it is about.
	freshTime = 10 * time.Minute
	// loginTime is how long somebody may take to log in.
	loginTime = 10 * time.Minute
	// apart is how far the issuer's clock may be ahead.
	apart = 30 * time.Second
	// maxAsking bounds the questions to the issuer that are under way: whoever reaches the daemon can begin a
	// login.
	maxAsking = 16
)

// Config says where people log in.
type Config struct {
	// Issuer is the provider, and Groups the claim that lists a person's groups; "" for none.
	Issuer bearer.Issuer
	Groups string
	// Client is the daemon's name at the provider, and Secret its password there; "" where it has none.
	Client, Secret string
	// URL is where browsers reach the daemon: the provider sends them back to URL/login/callback.
	URL *url.URL
	// Key seals the cookies; daemons with the same key take each other's sessions. Nil: one that ends with the
	// process.
	Key []byte

	Logger *slog.Logger
	// Now is the time. Nil: time.Now.
	Now func() time.Time
}

// Login logs people in. It is safe for concurrent use.
type Login struct {
	Config
	seal   seal
	asking chan struct{}
	failed *slog.Logger // of logins that fail, which whoever reaches the daemon can cause

	mu       sync.Mutex
	provider *oidc.Provider       // nil before the issuer was first asked
	ended    map[string]time.Time // sessions that people have ended, and when they would have ended
	open     map[string]answers   // what is being answered, by its session
}

// answers are requests that are being answered, and what ends each.
type answers map[*http.Request]context.CancelFunc

// New checks the configuration. The issuer is asked when somebody first logs in.
func New(c Config) (*Login, error) {
	local := c.URL != nil && c.URL.Scheme == "http" && isLocal(c.URL.Hostname())
	switch {
	case c.Client == "":
		return nil, errors.New("the client is not named; allowed: the name by which the issuer knows the daemon")
	case c.URL == nil || c.URL.Host == "" || c.URL.User != nil || strings.Trim(c.URL.Path, "/") != "" ||
		c.URL.RawQuery != "" || c.URL.Fragment != "" || c.URL.Scheme != "https" && !local:
		return nil, errors.New("the URL is not one of an origin; allowed: https://HOST or https://HOST:PORT, and " +
			"http with localhost")
	case !strings.HasPrefix(c.Issuer.URL, "https://"):
		return nil, fmt.Errorf("the issuer %q is not reached by https; allowed: an https URL", c.Issuer.URL)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Key == nil {
		c.Key = []byte(rand.Text() + rand.Text())
	}
	s, err := newSeal(c.Key)
	if err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Login{Config: c, seal: s, asking: make(chan struct{}, maxAsking), failed: bounds.Seldom(c.Logger),
		ended: map[string]time.Time{}, open: map[string]answers{}}, nil
}

func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// Handle serves the paths of a login, and reports whether the request was for one of them.
func (l *Login) Handle(w http.ResponseWriter, r *http.Request) bool {
	switch r.Method + " " + r.URL.Path {
	case "GET " + Path:
		l.begin(w, r)
	case "GET " + callbackPath:
		l.finish(w, r)
	case "POST " + LogoutPath:
		l.end(w, r)
	case "GET " + LogoutPath:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, ended)
	default:
		return false
	}
	return true
}

// underway is what a browser keeps while somebody logs in.
type underway struct {
	State, Nonce, Verifier, To string
	Until                      time.Time
	Again                      bool // the issuer must ask who it is, also somebody whom it knows
}

// Again is the address of a login at which the issuer asks anew, and which then leads to a page of the daemon.
func Again(to string) string { return Path + "?" + url.Values{"again": {"1"}, "to": {to}}.Encode() }

// begin sends a browser to the issuer.
func (l *Login) begin(w http.ResponseWriter, r *http.Request) {
	client, _, err := l.client(r.Context())
	if err != nil {
		l.fail(w, http.StatusServiceUnavailable, "the issuer does not answer; try again in a while", err)
		return
	}
	u := underway{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		To: here(r.URL.Query().Get("to")), Until: l.Now().Add(loginTime), Again: r.URL.Query().Get("again") != ""}
	options := []oauth2.AuthCodeOption{oidc.Nonce(u.Nonce), oauth2.S256ChallengeOption(u.Verifier)}
	if u.Again { // with max_age the issuer must say when it has asked (OpenID Connect Core 1.0 §3.1.2.1)
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"),
			oauth2.SetAuthURLParam("max_age", strconv.Itoa(int(freshTime/time.Second))))
	}
	// The issuer's page leads back here from another site, so this cookie alone is not strict.
	if err := l.put(w, "login", u, u.Until, http.SameSiteLaxMode); err != nil {
		l.fail(w, http.StatusInternalServerError, "the login cannot begin", err)
		return
	}
	http.Redirect(w, r, client.AuthCodeURL(u.State, options...), http.StatusSeeOther)
}

// here returns a path of the daemon's own, "/" for everything else.
func here(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(to, "/") ||
		strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") || len(to) > 1024 {
		return "/"
	}
	return u.String()
}

// finish takes what the issuer's page has sent the browser back with, and begins a session.
func (l *Login) finish(w http.ResponseWriter, r *http.Request) {
	var u underway
	found := l.get(r, "login", &u)
	l.clear(w, "login")
	q := r.URL.Query()
	switch {
	case !found || l.Now().After(u.Until):
		l.fail(w, http.StatusBadRequest, "this browser has no login under way here, or it has taken too long; "+
			"begin again", nil)
		return
	case subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(u.State)) != 1:
		l.fail(w, http.StatusBadRequest, "this is the end of another login than this browser has begun; "+
			"begin again", nil)
		return
	case q.Has("iss") && q.Get("iss") != l.Issuer.URL: // RFC 9207
		l.fail(w, http.StatusBadRequest, "this is the answer of another issuer; begin again", nil)
		return
	case q.Get("error") != "" || q.Get("code") == "":
		l.fail(w, http.StatusForbidden, "the issuer has not let you log in; its reason is in the daemon's log",
			fmt.Errorf("%.100q: %.300q", q.Get("error"), q.Get("error_description")))
		return
	}
	s, err := l.session(r.Context(), q.Get("code"), u)
	if err != nil {
		l.fail(w, http.StatusForbidden, "the login has failed; the daemon's log says why", err)
		return
	}
	if u.Again && !l.fresh(s.Session) {
		l.fail(w, http.StatusForbidden, "the issuer has not said that it has asked you just now (auth_time); what "+
			"needs that is done with accountctl", nil)
		return
	}
	if err := l.put(w, "session", s, s.Until, http.SameSiteStrictMode); err != nil {
		l.fail(w, http.StatusForbidden, "the login has failed: you are in too many groups for a cookie", err)
		return
	}
	l.Logger.Info("somebody has logged in", "principal", s.Principal, "until", s.Until)
	// A redirection would belong to the issuer's site still, from which a strict cookie is not sent.
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = onward.Execute(w, u.To)
}

var onward = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8">` +
	`<title>Logged in</title><link rel="icon" href="data:,"><meta http-equiv="refresh" content="0; url={{.}}">` +
	`<p>You are logged in. <a href="{{.}}">Go on</a></p></html>
`))

// kept is a session as the cookie has it.
type kept struct {
	ID string
	inside.Session
}

// session takes the issuer's token for a code, verifies it, and makes a session of what it says.
func (l *Login) session(ctx context.Context, code string, u underway) (kept, error) {
	client, provider, err := l.client(ctx)
	if err != nil {
		return kept{}, err
	}
	ctx, done, err := l.ask(ctx)
	if err != nil {
		return kept{}, err
	}
	defer done()
	got, err := client.Exchange(ctx, code, oauth2.VerifierOption(u.Verifier))
	if err != nil {
		return kept{}, withoutSecrets(err)
	}
	raw, ok := got.Extra("id_token").(string)
	if !ok || len(raw) > 2*bearer.MaxToken {
		return kept{}, errors.New("the issuer's answer has no ID token of at most 16 KiB")
	}
	token, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: l.Client, Now: l.Now}).Verify(ctx, raw)
	if err != nil {
		return kept{}, err
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(u.Nonce)) != 1 {
		return kept{}, errors.New("the ID token is of another login (nonce)")
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return kept{}, err
	}
	if by, ok := claims["azp"]; (ok || len(token.Audience) > 1) && by != l.Client { // OpenID Connect Core 1.0 §3.1.3.7
		return kept{}, errors.New("the ID token was issued to another client (azp)")
	}
	made := inside.Session{Until: l.Now().Add(sessionTime)}
	if seconds, ok := claims["auth_time"].(float64); ok && seconds > 0 && seconds < 1e11 {
		made.LoggedIn = time.Unix(int64(seconds), 0)
	}
	who, err := l.Issuer.Who(l.Groups, claims)
	made.Principal, made.Groups = who.Principal, who.Groups
	return kept{rand.Text(), made}, err
}

// fresh reports whether the issuer says that it has found out who somebody is a short time ago. Clocks may differ.
func (l *Login) fresh(s inside.Session) bool {
	age := l.Now().Sub(s.LoggedIn)
	return !s.LoggedIn.IsZero() && age < freshTime && age > -apart
}

// withoutSecrets leaves out what the issuer has answered, which may have a token in it.
func withoutSecrets(err error) error {
	var answered *oauth2.RetrieveError
	if errors.As(err, &answered) && answered.Response != nil {
		return fmt.Errorf("the issuer has not taken the code: %s, error %.100q", answered.Response.Status,
			answered.ErrorCode)
	}
	return errors.New("the issuer has not answered as expected to the code")
}

// client returns how the daemon talks to the issuer, which is asked once.
func (l *Login) client(ctx context.Context) (*oauth2.Config, *oidc.Provider, error) {
	l.mu.Lock()
	provider := l.provider
	l.mu.Unlock()
	if provider == nil {
		ctx, done, err := l.ask(context.WithoutCancel(ctx))
		if err != nil {
			return nil, nil, err
		}
		defer done()
		if provider, err = oidc.NewProvider(ctx, l.Issuer.URL); err != nil {
			return nil, nil, err
		}
		e := provider.Endpoint()
		if !strings.HasPrefix(e.AuthURL, "https://") || !strings.HasPrefix(e.TokenURL, "https://") {
			return nil, nil, errors.New("the issuer's endpoints are not reached by https")
		}
		l.mu.Lock()
		l.provider = provider
		l.mu.Unlock()
	}
	return &oauth2.Config{ClientID: l.Client, ClientSecret: l.Secret, Endpoint: provider.Endpoint(),
		RedirectURL: l.URL.Scheme + "://" + l.URL.Host + callbackPath,
		Scopes:      []string{oidc.ScopeOpenID, "profile", "email"},
	}, provider, nil
}

// ask returns a context for one question to the issuer. Where many are under way it waits for its turn, so that
// whoever begins many logins delays those of others, and ends none.
func (l *Login) ask(ctx context.Context) (context.Context, func(), error) {
	longest := l.Issuer.AskingTime()
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case l.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-timer.C:
		return nil, nil, fmt.Errorf("%d questions to the issuer are under way, for %v", maxAsking, longest)
	}
	web, err := l.Issuer.Client()
	if err != nil {
		<-l.asking
		return nil, nil, err
	}
	web.Timeout = longest
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, web), longest)
	return ctx, func() { cancel(); web.CloseIdleConnections(); <-l.asking }, nil
}

// end ends a session here; that at the issuer goes on.
func (l *Login) end(w http.ResponseWriter, r *http.Request) {
	var s kept
	if l.get(r, "session", &s) {
		l.mu.Lock()
		for id, until := range l.ended {
			if l.Now().After(until) {
				delete(l.ended, id)
			}
		}
		l.ended[s.ID] = s.Until
		for _, cancel := range l.open[s.ID] {
			cancel()
		}
		l.mu.Unlock()
	}
	l.clear(w, "session")
	http.Redirect(w, r, LogoutPath, http.StatusSeeOther)
}

// ended follows a logout. It does not lead to the next login by itself: the issuer often lets somebody in without a
// question, and a browser does not follow a form's redirections to another site.
const ended = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Logged out</title>` +
	`<link rel="icon" href="data:,"><p>You are logged out here. The issuer may still know you: log out there, too, ` +
	`if somebody else uses this browser.</p><p><a href="/login">Log in again</a></p></html>
`

// Session returns what a request's session proves, nothing if it has none.
func (l *Login) Session(r *http.Request) inside.Session {
	var s kept
	if !l.get(r, "session", &s) || !l.Now().Before(s.Until) {
		return inside.Session{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ended := l.ended[s.ID]; ended {
		return inside.Session{}
	}
	s.Token, s.Fresh = l.token(s.ID), l.fresh(s.Session)
	return s.Session
}

// While returns a context for the answer to a request, which ends when the request's session is ended here: a
// page that is watched tells nothing more after the logout. done must be called after the answer.
func (l *Login) While(r *http.Request) (ctx context.Context, done func()) {
	var s kept
	if !l.get(r, "session", &s) {
		return r.Context(), func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ended := l.ended[s.ID]; ended { // since the session was looked at
		cancel()
	}
	if l.open[s.ID] == nil {
		l.open[s.ID] = answers{}
	}
	l.open[s.ID][r] = cancel
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		if delete(l.open[s.ID], r); len(l.open[s.ID]) == 0 {
			delete(l.open, s.ID)
		}
	}
}

// fail answers with a sentence; what the log has besides may be of use to an attacker.
func (l *Login) fail(w http.ResponseWriter, status int, text string, err error) {
	if err != nil {
		l.failed.Warn("a login has failed", "error", err)
	}
	http.Error(w, text, status)
}
