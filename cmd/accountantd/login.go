// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/web/login"
)

// logins are the flags that say how people reach the dashboard, and how they log in.
type logins struct {
	url, issuer, client, secret, key string
}

func (l *logins) addFlags(f *pflag.FlagSet) {
	f.StringVar(&l.url, "public-url", "", "`URL` at which people reach the dashboard, such as "+
		"https://accountant.example.org, where that is not the address of --http")
	f.StringVar(&l.client, "login-client", "", "`name` of this daemon at the issuer: people log in there by OpenID "+
		"Connect's code flow, and come back to --public-url (docs/identities.md)")
	f.StringVar(&l.secret, "login-secret-file", "", "`file` with the daemon's password at the issuer, if it has one")
	f.StringVar(&l.issuer, "login-issuer", "", "`issuer` at which people log in, one of --token-issuer (default: "+
		"the only one)")
	f.StringVar(&l.key, "login-key-file", "", "`file` with at least 32 random bytes that seal sessions; "+
		"daemons with the same file share them (default: a key of this process)")
}

// public returns --public-url, nil without it.
func (l *logins) public() (*url.URL, error) {
	if l.url == "" {
		return nil, nil
	}
	u, err := url.Parse(l.url)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, &endpoint.ConfigError{Field: "public-url", Value: fmt.Sprintf("%q", l.url),
			Allowed: "https://HOST or https://HOST:PORT"}
	}
	return u, nil
}

// login returns what logs people in, nil if nothing does.
func (l *logins) login(issuers []bearer.Issuer, groups string, logger *slog.Logger) (*login.Login, error) {
	if l.client == "" {
		if l.secret+l.issuer+l.key != "" {
			return nil, &endpoint.ConfigError{Field: "login-client", Value: "not given, with other flags about logins",
				Allowed: "the daemon's name at the issuer"}
		}
		return nil, nil
	}
	c := login.Config{Client: l.client, Groups: groups, Logger: logger}
	var err error
	if c.URL, err = l.public(); err != nil {
		return nil, err
	}
	for _, i := range issuers {
		if i.URL == l.issuer || l.issuer == "" && len(issuers) == 1 {
			c.Issuer = i
		}
	}
	if c.Issuer.URL == "" {
		return nil, &endpoint.ConfigError{Field: "login-issuer", Value: fmt.Sprintf("%q", l.issuer),
			Allowed: "one of --token-issuer, which must be given"}
	}
	if l.secret != "" {
		secret, err := os.ReadFile(l.secret)
		if c.Secret = string(bytes.TrimSpace(secret)); err != nil || c.Secret == "" {
			return nil, &endpoint.ConfigError{Field: "login-secret-file", Value: fmt.Sprintf("%q (%v)", l.secret, err),
				Allowed: "a file with the daemon's password at the issuer"}
		}
	}
	if l.key != "" {
		if c.Key, err = os.ReadFile(l.key); err != nil {
			return nil, &endpoint.ConfigError{Field: "login-key-file", Value: err.Error(),
				Allowed: "a file with at least 32 random bytes"}
		}
	}
	made, err := login.New(c)
	if err != nil {
		return nil, &endpoint.ConfigError{Field: "login-client", Value: err.Error(), Allowed: "see docs/identities.md"}
	}
	return made, nil
}
