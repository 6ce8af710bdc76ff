// SPDX-License-Identifier: Apache-2.0

// Package rights compares what was written with the access policies that let it in: the ledger system:access has them,
// and each entry has the position of its own there. It reports what no caller can have done by the API, and nothing
// that somebody may have done whom the entry does not show fully: docs/audit.md lists both.
//
// It is a package of its own because a replay knows one ledger, and no policy.
package rights

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// late is how long after a policy an entry may still be one that a policy before let in: a call passes the gate before
// its entry is decided, and the daemons of a database learn of a policy one after the other.
const late = time.Minute

// roles are what each kind of entry needs; nobody asks for those that are not here but the daemon.
// A test compares them with the table of package gate.
var roles = map[string]access.Role{
	"charge": access.Reporter, "reserve": access.Reporter, "commit": access.Reporter, "release": access.Reporter,
	"observe": access.Reporter,
	"close":   access.Manager, "expire": access.Manager, "acknowledge": access.Manager,
	"raise": access.Officer, "refund": access.Officer, "free": access.Officer, "reconcile": access.Officer,
	"propose": access.Officer, "withdraw": access.Officer, "amend_dataset": access.Officer,
}

// History is the policies that were in force, in the order of the ledger system:access.
type History struct {
	policies []since
	last     uint64 // position in system:access

	// Spec returns the spec of a ledger, which says of what it is a part.
	Spec func(name string) (ledger.Spec, error)
}

// since is a policy from when it was in force.
type since struct {
	record   uint64 // of the log of all ledgers, if that is known
	position uint64 // of its entry in system:access
	time     time.Time
	policy   *access.Policy // nil: none was in force

	instead *uint64 // position of the policy that an entry names, which by times alone had been replaced
}

// Add adds an entry of the ledger system:access, and its place in the log of all ledgers, if that is known.
func (h *History) Add(record uint64, e ledger.Entry) error {
	h.last = e.Position
	v, ok := e.Action.(ledger.AccessPolicy)
	if !ok {
		return nil // such as a restore
	}
	s := since{record: record, position: e.Position, time: e.Time}
	if len(v.Text) > 0 {
		p, err := access.Parse(v.Text)
		if err != nil {
			return &audit.Finding{Ledger: ledger.AccessLedger, Position: e.Position, What: "access policy",
				Expected: "one that this program can read", Found: err.Error()}
		}
		s.policy = p
	}
	h.policies = append(h.policies, s)
	return nil
}

// Ledger judges one ledger: first its genesis, and then its entries in their order.
type Ledger struct {
	history *History
	name    string
	newest  int       // how many policies there were, as far as is known
	clock   time.Time // the latest time in the ledger since then
}

// Of begins with a ledger or a dataset's record.
func (h *History) Of(name string) *Ledger { return &Ledger{history: h, name: name} }

// Resume goes on after an entry whose place in the log of all ledgers is record, given what Clock said after it.
func (l *Ledger) Resume(record uint64, clock time.Time) {
	for l.newest < len(l.history.policies) && l.history.policies[l.newest].record < record {
		l.newest++
	}
	l.clock = clock
}

// Clock returns the latest time in the ledger since the newest policy.
func (l *Ledger) Clock() time.Time { return l.clock }

// Created judges the genesis. record is its place in the log of all ledgers, 0 if that is not known.
func (l *Ledger) Created(record uint64, g ledger.Genesis) error {
	s, err := l.policy(record, 0, g.Policy, g.Time)
	if err != nil || s.policy == nil || g.Principal == ledger.Daemon {
		return err
	}
	need, on := access.Manager, access.Target{Ledger: l.name}
	if d := g.Spec.Dataset; d != nil {
		need, on = access.Officer, access.Target{}
		if s.policy.ApproveWithin > 0 && d.BudgetOf == "" && !d.ToConfirm {
			return &audit.Finding{Ledger: l.name, What: "two people",
				Expected: "a registration that another person has to confirm" + s.where(),
				Found:    "registered by " + g.Principal + " alone"}
		}
	}
	return s.lacks(l.name, 0, "creation", g.Principal, need, on, true)
}

// Wrote judges an entry. record is its place in the log of all ledgers, 0 if that is not known.
func (l *Ledger) Wrote(record uint64, e ledger.Entry) error {
	s, err := l.policy(record, e.Position, e.Policy, e.Time)
	if err != nil || s.policy == nil {
		return err
	}
	if err := s.people(l.name, e); err != nil {
		return err
	}
	need, asked := roles[e.Action.Kind()]
	if !asked || e.Writer.Principal == ledger.Daemon {
		return nil
	}
	on, err := l.history.target(l.name)
	if err != nil {
		return err
	}
	return s.lacks(l.name, e.Position, e.Action.Kind(), e.Writer.Principal, need, on, !s.isOfTwo(e))
}

// policy returns the policy by which to judge what was written at a position and a time: the one that it names. If that
// cannot have let it in, because it was not recorded yet, or another one had taken its place for longer than late, it
// is the newest one: so an entry cannot choose a policy. The policy is nil if none was in force.
func (l *Ledger) policy(record, position, named uint64, at time.Time) (since, error) {
	if last := l.history.last; named > last {
		return since{}, &audit.Finding{Ledger: l.name, Position: position, What: "access policy",
			Expected: fmt.Sprintf("that of an entry of %s, which has %d", ledger.AccessLedger, last),
			Found:    fmt.Sprintf("that of entry %d", named)}
	}
	list, n := l.history.policies, l.newest
	for n < len(list) && list[n].before(record, at) {
		n++
	}
	i := n // how many there were when it was let in
	if named == 0 {
		for i > 0 && list[i-1].policy != nil {
			i--
		}
	} else if k, ok := slices.BinarySearchFunc(list, named, since.compare); ok {
		i = k + 1
	}
	if i > n && (record == 0 || !list[i-1].time.After(at)) {
		n = i // times are not exact, and the log of a store that was made of an archive has another order
	}
	i = min(i, n)
	if n > l.newest {
		l.newest, l.clock = n, at
	} else if at.After(l.clock) {
		l.clock = at
	}
	replaced := slices.ContainsFunc(list[i:n], func(s since) bool { return l.clock.Sub(s.time) > late })
	if replaced {
		i = n
	}
	if i == 0 {
		return since{}, nil // before the first policy everybody might do everything
	}
	s := list[i-1]
	if replaced && record == 0 {
		s.instead = &named
	}
	return s, nil
}

// before reports whether the policy was recorded before something was written. Where the log of all ledgers is not
// known, times say it.
func (s since) before(record uint64, at time.Time) bool {
	if record == 0 {
		return !s.time.After(at)
	}
	return s.record < record
}

func (s since) compare(position uint64) int { return cmp.Compare(s.position, position) }

// people looks at who has done alone what needs two people, and at who two people are.
func (s since) people(name string, e ledger.Entry) error {
	finding := func(expected, found string) error {
		return &audit.Finding{Ledger: name, Position: e.Position, What: "two people", Expected: expected + s.where(),
			Found: found}
	}
	by := e.Writer.Principal
	if v, ok := e.Action.(ledger.Propose); ok && v.Person != s.policy.Person(by) {
		return finding(fmt.Sprintf("a proposal of %s, who is %s", by, s.policy.Person(by)), "of "+v.Person)
	}
	switch approved := e.Approval; {
	case approved != nil && approved.Person != s.policy.Person(by):
		return finding(fmt.Sprintf("an approval by %s, who is %s", by, s.policy.Person(by)), "by "+approved.Person)
	case approved != nil && s.policy.Person(approved.Proposer) == s.policy.Person(by):
		return finding("an approval by another person than the proposer",
			fmt.Sprintf("proposed by %s and approved by %s, who are one person", approved.Proposer, by))
	case approved == nil && s.policy.ApproveWithin > 0 && ledger.NeedsTwoPeople(e.Action):
		return finding("a proposal and another person's approval", fmt.Sprintf("%s by %s alone", e.Action.Kind(), by))
	}
	return nil
}

// isOfTwo reports whether an entry is a part of what two people do: then being the daemon's owner
// is not enough.
func (s since) isOfTwo(e ledger.Entry) bool {
	if s.policy.ApproveWithin == 0 {
		return false
	}
	_, proposes := e.Action.(ledger.Propose)
	return proposes || e.Approval != nil
}

// lacks says that somebody did what needs a role which no grant gives them. Who may have been on the
// daemon's own socket is passed over if its owner may do it (owners).
func (s since) lacks(name string, position uint64, what, by string, need access.Role, on access.Target,
	owners bool) error {
	if owners && mayOwn(by) {
		return nil
	}
	c := access.Caller{Principal: by}
	if strings.HasPrefix(by, "oidc:") {
		c.Groups = s.groups()
	}
	if s.policy.Decide(c, need, on).Allowed {
		return nil
	}
	return &audit.Finding{Ledger: name, Position: position, What: what,
		Expected: fmt.Sprintf("by somebody with the role %v on %v%s", need, on, s.where()),
		Found:    "by " + by + ", to whom no grant gives it"}
}

// where names the policy.
func (s since) where() string {
	text := fmt.Sprintf(", by the access policy of entry %d of %s", s.position, ledger.AccessLedger)
	if s.instead != nil {
		text += fmt.Sprintf(", which by its time had replaced the one that the entry names, %d; if the daemon's "+
			"clock was set back, verify --data, --backup or --store knows which came first", *s.instead)
	}
	return text
}

// mayOwn reports whether a principal may be the daemon's owner: the entry does not say on which
// socket its caller was. A certificate is for TLS only, and the daemon's own socket has none.
func mayOwn(principal string) bool {
	for _, scheme := range []string{"uid:", "oidc:", access.Unverified} {
		if strings.HasPrefix(principal, scheme) {
			return true
		}
	}
	return false
}

// groups are all groups to which the policy grants something: the entry does not say of which of
// them its caller's token was. Each pattern stands for its own text.
func (s since) groups() (list []string) {
	for _, g := range s.policy.Grants {
		for _, to := range g.To {
			if text, ok := strings.CutPrefix(string(to), "group:"); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// target is what rights on a ledger follow from. What is done in a dataset's record is about everything.
func (h *History) target(name string) (access.Target, error) {
	if ledger.IsDataset(name) {
		return access.Target{}, nil
	}
	spec, err := h.Spec(name)
	if err != nil {
		return access.Target{}, err
	}
	t := access.Target{Ledger: name, Dataset: spec.DatasetID}
	for parent := spec.Parent; parent != ""; parent = spec.Parent {
		t.Parents = append(t.Parents, parent)
		if spec, err = h.Spec(parent); err != nil {
			return access.Target{}, err
		}
	}
	return t, nil
}
