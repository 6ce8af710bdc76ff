// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/server/bearer"
)

// What belongs to one issuer of several is given with its name; an issuer's name may be the beginning of
// another's.
func TestTokenFlags(t *testing.T) {
	t.Parallel()
	one, two := "https://a.example", "https://a.example/b=c"
	aud := []string{"accountant"}
	for _, c := range []struct {
		tokens tokens
		want   []bearer.Issuer
		says   string
	}{
		{tokens: tokens{}},
		{tokens: tokens{issuers: []string{one}, audiences: aud, keys: []string{"/keys/a=b"}, claims: []string{"email"}},
			want: []bearer.Issuer{{URL: one, Audiences: aud, Keys: "/keys/a=b", Claim: "email"}}},
		{tokens: tokens{issuers: []string{one}, audiences: aud, authorities: []string{one + "=ca.pem"}},
			want: []bearer.Issuer{{URL: one, Audiences: aud, CA: "ca.pem"}}},
		{tokens: tokens{issuers: []string{one, two}, audiences: aud, keys: []string{two + "=k", one + "=l"},
			claims: []string{two + "=email"}},
			want: []bearer.Issuer{{URL: one, Audiences: aud, Keys: "l"},
				{URL: two, Audiences: aud, Keys: "k", Claim: "email"}}},
		{tokens: tokens{issuers: []string{one, two}, keys: []string{"k"}}, says: `"k", of which issuer is not said`},
		{tokens: tokens{issuers: []string{one}, keys: []string{"k", "l"}}, says: "given twice for " + one},
		{tokens: tokens{audiences: aud}, says: "token-issuer: not given"},
		{tokens: tokens{groups: "groups"}, says: "token-issuer: not given"},
	} {
		got, err := c.tokens.config()
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v: %v; want %q", c.tokens, err, c.says)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %+v, %v; want %+v", c.tokens, got, err, c.want)
		}
	}
}
