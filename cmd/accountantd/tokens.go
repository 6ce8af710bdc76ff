// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
)

// tokens are the flags that say whose tokens prove who calls.
type tokens struct {
	issuers, audiences, keys, claims, authorities []string
	groups                                        string
}

func (t *tokens) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&t.issuers, "token-issuer", nil, "`issuers` whose tokens prove who calls, as the tokens name "+
		"them: https URLs, at which their keys are found; none: no tokens are taken")
	f.StringSliceVar(&t.audiences, "token-audience", nil,
		"`names` of this daemon: a token must be for one of them; needed with --token-issuer")
	f.StringSliceVar(&t.keys, "token-keys", nil,
		"`file` with an issuer's public keys (a JSON Web Key Set), which is then not asked; with several issuers "+
			"ISSUER=FILE")
	f.StringSliceVar(&t.authorities, "token-ca", nil,
		"PEM `file` of the authorities that certify the issuer's server, instead of the system's; with several "+
			"issuers ISSUER=FILE")
	f.StringSliceVar(&t.claims, "token-claim", nil,
		"`claim` of a token that names the caller (default sub); with several issuers ISSUER=CLAIM")
	f.StringVar(&t.groups, "token-groups", "", "`claim` of a token that lists the caller's groups")
}

// config returns the issuers. The error is a *endpoint.ConfigError.
func (t *tokens) config() (list []bearer.Issuer, err error) {
	of := map[string]*bearer.Issuer{}
	for _, url := range t.issuers {
		list = append(list, bearer.Issuer{URL: url, Audiences: t.audiences})
	}
	for i := range list {
		of[list[i].URL] = &list[i]
	}
	if len(list) == 0 && len(t.audiences)+len(t.keys)+len(t.authorities)+len(t.claims) > 0 ||
		len(list) == 0 && t.groups != "" {
		return nil, &endpoint.ConfigError{Field: "token-issuer", Value: "not given, with other flags about tokens",
			Allowed: "the issuer whose tokens are taken"}
	}
	for _, given := range []struct {
		flag   string
		values []string
		place  func(*bearer.Issuer) *string
	}{
		{"token-keys", t.keys, func(i *bearer.Issuer) *string { return &i.Keys }},
		{"token-ca", t.authorities, func(i *bearer.Issuer) *string { return &i.CA }},
		{"token-claim", t.claims, func(i *bearer.Issuer) *string { return &i.Claim }},
	} {
		for _, value := range given.values {
			issuer, rest := t.split(value)
			if of[issuer] == nil {
				return nil, &endpoint.ConfigError{Field: given.flag,
					Value:   fmt.Sprintf("%q, of which issuer is not said", value),
					Allowed: "ISSUER=…, with an issuer of --token-issuer"}
			}
			if at := given.place(of[issuer]); *at == "" {
				*at = rest
				continue
			}
			return nil, &endpoint.ConfigError{Field: given.flag, Value: "given twice for " + issuer,
				Allowed: "once for each issuer"}
		}
	}
	return list, nil
}

// split returns the issuer before "=" in a flag's value. Where there is one issuer, it need not be named.
func (t *tokens) split(value string) (issuer, rest string) {
	for _, i := range t.issuers {
		if after, ok := strings.CutPrefix(value, i+"="); ok && len(i) > len(issuer) {
			issuer, rest = i, after
		}
	}
	if issuer == "" && len(t.issuers) == 1 {
		return t.issuers[0], value
	}
	return issuer, rest
}
