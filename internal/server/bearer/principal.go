// SPDX-License-Identifier: Apache-2.0

package bearer

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/internal/wire"
)

// subject is the claim that names a caller by default: an issuer never gives it to somebody else.
const subject = "sub"

// Who returns the principal and the groups of whoever the issuer made claims about, which somebody else has
// verified. groupClaim is the claim that lists groups; "" for none.
func (i Issuer) Who(groupClaim string, claims map[string]any) (Identity, error) {
	i.Claim = cmp.Or(i.Claim, subject)
	name, err := principal(i, claims)
	if err != nil {
		return Identity{}, err
	}
	list, err := groups(i, groupClaim, claims)
	return Identity{Principal: name, Groups: list}, err
}

// principal returns the name of whoever a token was issued to: "oidc:ISSUER#SUBJECT", or with another
// claim than the subject "oidc:ISSUER#CLAIM=VALUE". Neither an issuer nor an escaped value has a "#" or
// a "=" that could be mistaken for these, so no two callers have one name.
func principal(i Issuer, claims map[string]any) (string, error) {
	value, ok := claims[i.Claim].(string)
	if !ok || value == "" {
		return "", refuse("subject", "it does not say for whom it is; allowed: a text in the claim %q", i.Claim)
	}
	// Some issuers let anybody write any address into a profile.
	if i.Claim == "email" && claims["email_verified"] != true {
		return "", refuse("subject", "its issuer has not verified the address in the claim \"email\"; allowed: "+
			"\"email_verified\" is true")
	}
	name := "oidc:" + i.URL + "#"
	if i.Claim != subject {
		name += i.Claim + "="
	}
	if name += escape(value); !wire.IsPrincipal(name) { // all else about it is escaped
		return "", refuse("subject", "the name of whom it is for is too long: %d bytes with the issuer's; allowed: at "+
			"most 256", len(name))
	}
	return name, nil
}

// escape replaces every byte that is not a letter, a digit or one of "-._~:@/|+" with "%" and two
// hexadecimal digits. Wildcards, blanks and "#", "=" and "%" themselves are among what is replaced, so
// that a principal can be part of a pattern, a list or a log without quoting.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~:@/|+", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// maxGroups bounds how many groups of a token are read.
const maxGroups = 1000

// groups returns the groups that claims list, as "ISSUER#GROUP": an issuer cannot put anybody into a
// group of another one.
func groups(i Issuer, claim string, claims map[string]any) (groups []string, err error) {
	if claim == "" || claims[claim] == nil {
		return nil, nil
	}
	list, ok := claims[claim].([]any)
	if one, isText := claims[claim].(string); isText {
		list, ok = []any{one}, true
	}
	if !ok || len(list) > maxGroups {
		return nil, refuse("groups", "its claim %q is no list of at most %d texts", claim, maxGroups)
	}
	for _, g := range list {
		name, ok := g.(string)
		if !ok {
			return nil, refuse("groups", "its claim %q is no list of at most %d texts", claim, maxGroups)
		}
		groups = append(groups, i.URL+"#"+escape(name))
	}
	return groups, nil
}
