// SPDX-License-Identifier: Apache-2.0

// Package access decides who may do what: it reads an access policy and answers whether a caller
// holds a role on a ledger, on a dataset or on the whole daemon, and by which grant of the policy.
// Everything that no grant allows is denied.
//
// The package is pure: it has no clock, no files and no state. Package server/gate asks it for
// each call of the API.
package access

import (
	"slices"
	"strings"
)

// Role is what a grant allows.
type Role uint8

// The roles. Every role includes Viewer; see includes.
const (
	Viewer        Role = iota // reads balances, answers and statements
	Reporter                  // charges and reserves
	Manager                   // creates and closes ledgers, and may reserve most of a budget
	Officer                   // raises budgets, refunds, frees reservations and reconciles
	Auditor                   // reads entries, and what anybody's rights are
	Administrator             // takes backups
	roles
)

var roleNames = [roles]string{"viewer", "reporter", "manager", "officer", "auditor", "administrator"}

// includes lists, for each role, the roles that its holder has with it. An officer has to see the
// entry that is to be refunded, and a backup holds everything that an auditor can read.
var includes = [roles]set{
	Viewer:        setOf(Viewer),
	Reporter:      setOf(Reporter, Viewer),
	Manager:       setOf(Manager, Viewer),
	Officer:       setOf(Officer, Auditor, Viewer),
	Auditor:       setOf(Auditor, Viewer),
	Administrator: setOf(Administrator, Auditor, Viewer),
}

// Roles returns all roles.
func Roles() []Role { return []Role{Viewer, Reporter, Manager, Officer, Auditor, Administrator} }

func (r Role) String() string { return roleNames[r] }

// Includes reports whether a holder of r also holds other.
func (r Role) Includes(other Role) bool { return includes[r].has(other) }

// set is a set of roles.
type set uint8

func setOf(list ...Role) (s set) {
	for _, r := range list {
		s |= 1 << r
	}
	return s
}

func (s set) has(r Role) bool { return s&(1<<r) != 0 }

// Caller is who asks.
type Caller struct {
	Principal string   // such as "uid:1000" or "cn:ann"
	Groups    []string // that the caller's token proves; none for other callers
}

// Unverified begins the principal of a caller who said who it is, where nothing proves that.
const Unverified = "unverified:"

// Proven reports whether the connection or a token proves who calls.
func (c Caller) Proven() bool {
	return c.Principal != "" && !strings.HasPrefix(c.Principal, Unverified)
}

// Target is what a call is about. The zero Target is the whole daemon.
type Target struct {
	Ledger  string   // its name; "" for a dataset or the whole daemon
	Parents []string // the ledger's parent, that one's parent and so on; none for a ledger that does not exist
	Dataset string   // the dataset that the ledger is of; "" if it has none or does not exist
}

// String names the target in messages. It never says whether the ledger exists.
func (t Target) String() string {
	switch {
	case t.Ledger != "":
		return "ledger " + t.Ledger
	case t.Dataset != "":
		return "dataset " + t.Dataset
	}
	return "the whole daemon"
}

// Decision says whether something is allowed.
type Decision struct {
	Allowed bool
	Grant   *Grant // the first one in the file that allows it; nil if none does
}

// Decide says whether the caller holds the role on the target.
func (p *Policy) Decide(c Caller, need Role, t Target) Decision {
	for i := range p.Grants {
		if g := &p.Grants[i]; g.has.has(need) && g.covers(t) && p.admits(g, c) {
			return Decision{true, g}
		}
	}
	return Decision{}
}

// Perhaps reports whether somebody of whom only the principal is known may hold the role on the target: by a grant
// to that principal, or to a group of the issuer that has named it.
func (p *Policy) Perhaps(principal string, need Role, t Target) bool {
	if p.Decide(Caller{Principal: principal}, need, t).Allowed {
		return true
	}
	issuer, _, named := strings.Cut(strings.TrimPrefix(principal, oidcScheme), "#")
	if !named || !strings.HasPrefix(principal, oidcScheme) {
		return false
	}
	ofIssuer := func(to Pattern) bool {
		group, ok := strings.CutPrefix(string(to), groupScheme)
		of, _, _ := strings.Cut(group, "#")
		return ok && matches(of, issuer)
	}
	return slices.ContainsFunc(p.Grants, func(g Grant) bool {
		return g.has.has(need) && g.covers(t) && slices.ContainsFunc(g.To, ofIssuer)
	})
}

// Anywhere says whether the caller holds the role on anything at all.
func (p *Policy) Anywhere(c Caller, need Role) Decision {
	for i := range p.Grants {
		if g := &p.Grants[i]; g.has.has(need) && p.admits(g, c) {
			return Decision{true, g}
		}
	}
	return Decision{}
}

// Of returns the grants to a caller, in the order of the file.
func (p *Policy) Of(c Caller) (list []*Grant) {
	for i := range p.Grants {
		if g := &p.Grants[i]; p.admits(g, c) {
			list = append(list, g)
		}
	}
	return list
}

// Holder returns the group of callers to which a reservation belongs that the caller makes on the
// target: the holder that the first grant names which makes the caller a reporter there. It is ""
// if that grant names none; then the reservation belongs to the caller alone.
func (p *Policy) Holder(c Caller, t Target) string {
	if d := p.Decide(c, Reporter, t); d.Allowed {
		return d.Grant.Holder
	}
	return ""
}

// Person returns the name of the person whose principal this is, or the principal itself if the
// policy lists no such person. Two principals with the same result are one person.
func (p *Policy) Person(principal string) string {
	if name, ok := p.persons[principal]; ok {
		return personScheme + name
	}
	return principal
}

func (p *Policy) admits(g *Grant, c Caller) bool {
	return slices.ContainsFunc(g.To, func(to Pattern) bool { return to.admits(c, p.persons) })
}

func (g *Grant) covers(t Target) bool {
	return slices.ContainsFunc(g.On, func(on Scope) bool { return on.covers(t) })
}
