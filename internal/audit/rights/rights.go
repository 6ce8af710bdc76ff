// SPDX-License-Identifier: Apache-2.0

// Package rights compares what was written with the access policies that were in force then, which
// the ledger system:access has. It reports what no caller can have done by the API, and nothing
// that somebody may have done whom the entry does not show fully: docs/audit.md lists both.
//
// It is a package of its own because a replay knows no policy: only the verification of a whole store has one to
// compare with.
package rights

import (
	"fmt"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/audit"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// late is how long after a policy an entry may still be one that the policy before let in: a call
// passes the gate before its entry is decided.
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

// History is the policies that were in force, in the order of a store's log.
type History struct {
	policies []since

	// Spec returns the spec of a ledger, which says of what it is a part.
	Spec func(name string) (ledger.Spec, error)
}

// since is a policy from when it was in force.
type since struct {
	record   uint64 // of the log
	position uint64 // of its entry in system:access
	time     time.Time
	policy   *access.Policy // nil: none was in force
}

// Add adds an entry of the ledger system:access. Entries come in the order of the log.
func (h *History) Add(record uint64, e ledger.Entry) error {
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

// Created looks at the genesis of a ledger or of a dataset's record.
func (h *History) Created(record uint64, g ledger.Genesis) error {
	return h.judge(record, g.Time, func(s since) error {
		if g.Principal == ledger.Daemon {
			return nil
		}
		need, on := access.Manager, access.Target{Ledger: g.Spec.Name}
		if d := g.Spec.Dataset; d != nil {
			need, on = access.Officer, access.Target{}
			if s.policy.ApproveWithin > 0 && d.BudgetOf == "" && !d.ToConfirm {
				return &audit.Finding{Ledger: g.Spec.Name, What: "two people",
					Expected: "a registration that another person has to confirm" + s.where(),
					Found:    "registered by " + g.Principal + " alone"}
			}
		}
		return s.lacks(g.Spec.Name, 0, "creation", g.Principal, need, on, true)
	})
}

// Wrote looks at an entry of a ledger.
func (h *History) Wrote(record uint64, name string, e ledger.Entry) error {
	return h.judge(record, e.Time, func(s since) error {
		if err := s.people(name, e); err != nil {
			return err
		}
		need, asked := roles[e.Action.Kind()]
		if !asked || e.Writer.Principal == ledger.Daemon {
			return nil
		}
		on, err := h.target(name)
		if err != nil {
			return err
		}
		return s.lacks(name, e.Position, e.Action.Kind(), e.Writer.Principal, need, on, !s.isOfTwo(e))
	})
}

// judge asks about the policy that was in force, and about those that it had just replaced. It is
// enough that one of them allows it.
func (h *History) judge(record uint64, at time.Time, wrong func(since) error) (first error) {
	for i := len(h.policies) - 1; i >= 0; i-- {
		s := h.policies[i]
		if s.record > record {
			continue
		}
		if s.policy == nil {
			return nil
		}
		err := wrong(s)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
		if at.Sub(s.time) > late {
			return first
		}
	}
	return nil // before the first policy everybody might do everything
}

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
	return fmt.Sprintf(", by the access policy of entry %d of %s", s.position, ledger.AccessLedger)
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
