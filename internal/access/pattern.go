// SPDX-License-Identifier: Apache-2.0

package access

import (
	"fmt"
	"slices"
	"strings"
)

const (
	oidcScheme   = "oidc:"
	groupScheme  = "group:"
	personScheme = "person:"
)

// schemes are how patterns may begin: what comes before the colon in principals, and the words
// for groups and for persons of the policy.
var schemes = []string{"uid:", "cn:", "uri:", "email:", "dns:", oidcScheme, groupScheme, personScheme, Unverified}

// Pattern is a principal, or many of them: "*" stands for any characters except "/" and "#", and
// "**" for any characters except "#". So a name that the caller may choose in part never reaches
// into the next part of a URI or of an issuer.
type Pattern string

func parsePattern(text string) (Pattern, error) {
	if strings.HasPrefix(text, "spiffe://") { // as certificates spell it
		text = "uri:" + text
	}
	i := slices.IndexFunc(schemes, func(s string) bool { return strings.HasPrefix(text, s) })
	if i < 0 || text == schemes[i] {
		return "", fmt.Errorf("%q; allowed: a principal such as uid:1000, cn:*.train.example, "+
			"spiffe://example.org/ns/vision/sa/*, oidc:ISSUER#SUBJECT, group:ISSUER#NAME, person:NAME or "+
			"unverified:NAME (* stands for any characters except / and #, ** also for /)", text)
	}
	if (schemes[i] == groupScheme || schemes[i] == oidcScheme) && !strings.Contains(text, "#") {
		return "", fmt.Errorf("%q, which stands for nobody; allowed: %sISSUER#NAME, as no star stands for a #", text,
			schemes[i])
	}
	if schemes[i] == personScheme && strings.Contains(text, "*") {
		return "", fmt.Errorf("%q; allowed: the name of one person", text)
	}
	return Pattern(text), nil
}

// admits reports whether the pattern stands for the caller.
func (p Pattern) admits(c Caller, persons map[string]string) bool {
	text := string(p)
	if name, ok := strings.CutPrefix(text, groupScheme); ok {
		return slices.ContainsFunc(c.Groups, func(group string) bool { return matches(name, group) })
	}
	if name, ok := strings.CutPrefix(text, personScheme); ok {
		known, ok := persons[c.Principal]
		return ok && known == name
	}
	return matches(text, c.Principal)
}

// proven reports whether the pattern stands for proven callers only.
func (p Pattern) proven() bool { return !strings.HasPrefix(string(p), Unverified) }

// matches reports whether a pattern stands for all of text. It goes back only to the newest star,
// or to the newest double star, so it takes at most the product of both lengths.
func matches(pattern, text string) bool {
	type retry struct {
		pattern, text int // where to go on; pattern < 0 if there was no such star
	}
	one, two := retry{-1, 0}, retry{-1, 0}
	i, j := 0, 0
	for j < len(text) || i < len(pattern) {
		switch {
		case strings.HasPrefix(pattern[i:], "**"):
			i += 2
			one, two = retry{-1, 0}, retry{i, j}
			continue
		case i < len(pattern) && pattern[i] == '*':
			i++
			one = retry{i, j}
			continue
		case i < len(pattern) && j < len(text) && pattern[i] == text[j]:
			i, j = i+1, j+1
			continue
		case one.pattern >= 0 && one.text < len(text) && text[one.text] != '/' && text[one.text] != '#':
			one.text++
			i, j = one.pattern, one.text
			continue
		case two.pattern >= 0 && two.text < len(text) && text[two.text] != '#':
			two.text++
			one = retry{-1, 0}
			i, j = two.pattern, two.text
			continue
		}
		return false
	}
	return true
}

// Scope is what a grant is over: "ledger:NAME", "prefix:TEXT", "dataset:ID" or "everything".
type Scope string

const everything Scope = "everything"

const (
	ledgerScheme  = "ledger:"
	prefixScheme  = "prefix:"
	datasetScheme = "dataset:"
)

// prefixEnds are the characters in which a prefix may end. Otherwise "prefix:team" would also
// cover the ledgers of a team that is called "team2".
const prefixEnds = "/-._"

func parseScope(text string) (Scope, error) {
	for _, scheme := range []string{ledgerScheme, prefixScheme, datasetScheme} {
		rest, ok := strings.CutPrefix(text, scheme)
		switch {
		case !ok:
		case rest == "" || strings.Contains(rest, "*"):
			return "", fmt.Errorf("%q; allowed: %s and a name without stars", text, scheme)
		case scheme == prefixScheme && !strings.ContainsAny(rest[len(rest)-1:], prefixEnds):
			return "", fmt.Errorf("%q; allowed: a prefix that ends in one of %s, such as %s/", text, prefixEnds, text)
		default:
			return Scope(text), nil
		}
	}
	if Scope(text) == everything {
		return everything, nil
	}
	return "", fmt.Errorf("%q; allowed: ledger:NAME, prefix:TEAM/, dataset:ID or everything", text)
}

// covers reports whether the target lies in the scope. A ledger brings its child ledgers with it,
// because what they may spend was taken from it.
func (s Scope) covers(t Target) bool {
	switch text := string(s); {
	case s == everything:
		return true
	case strings.HasPrefix(text, datasetScheme):
		return t.Dataset != "" && text[len(datasetScheme):] == t.Dataset
	case strings.HasPrefix(text, ledgerScheme):
		name := text[len(ledgerScheme):]
		return t.Ledger == name || slices.Contains(t.Parents, name)
	default:
		prefix := text[len(prefixScheme):]
		return strings.HasPrefix(t.Ledger, prefix) ||
			slices.ContainsFunc(t.Parents, func(p string) bool { return strings.HasPrefix(p, prefix) })
	}
}
