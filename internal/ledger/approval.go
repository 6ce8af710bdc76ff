// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

const (
	// maxOpenProposals bounds the proposals of one person that wait in one ledger. An approval, a
	// withdrawal and the end of a proposal's time make room for another.
	maxOpenProposals = 20
	// maxProposalsOf bounds the proposals that one person has ever made in one ledger, so that nobody can
	// use up what the ledger takes of all people.
	maxProposalsOf = 1000
	// maxProposals bounds the proposals that were ever made in one ledger: all of them are read
	// with it.
	maxProposals = 3000
	// maxProposalTime bounds how long a proposal may be approved.
	maxProposalTime = 31 * 24 * time.Hour
)

// Approval says by whose proposal something was done that one person may not do alone. The
// principal of the entry's writer has approved it.
type Approval struct {
	// the position of the entry that proposed it
	Proposal uint64 `field:"1" need:"the position of the entry that proposed it, ≥ 1"`
	// the principal of that entry
	Proposer string `field:"2" need:"a principal" most:"256"`
	// who approved it, by the policy of that time
	Person string `field:"3" need:"a person or a principal" most:"256"`
	// what they said to it
	Comment string `field:"4" most:"1024"`
}

// Approvable is an action that may need two people. Nothing else is different about it: who has proposed and
// approved it is said by the entry.
type Approvable interface {
	amendment
	needsTwoPeople() bool
}

// NeedsTwoPeople reports whether v is something that one person may not do alone where the access
// policy asks for two.
func NeedsTwoPeople(v Action) bool {
	a, ok := v.(Approvable)
	return ok && a.needsTwoPeople()
}

// OpenProposal is something that was proposed and neither approved nor withdrawn.
type OpenProposal struct {
	Position  uint64
	Principal string
	Deadline  time.Time
	Propose
}

// Propose asks another person to approve an action. It changes nothing but that.
type Propose struct {
	Action Approvable `inner:"asked"`
	// how long it may be approved
	Lifetime time.Duration `field:"6" need:"from 1 to 2678400" most:"2678400" decided:"the access policy says it"`
	// who proposes it, by the policy of that time
	Person string `field:"7" need:"a person or a principal" most:"256" decided:"the access policy says it"`
}

// Kind implements Action.
func (Propose) Kind() string { return "propose" }

// Details implements Action.
func (v Propose) Details() Details {
	if v.Action == nil { // only in the list of all kinds
		return Details{}
	}
	d := v.Action.Details()
	return Details{Reason: d.Reason, More: d.More + 64*len(d.Events)}
}

func (v Propose) decide(b *Batch) error {
	switch by := b.request.Writer.Principal; {
	case strings.HasPrefix(by, Unverified):
		return refuse(ErrApproval, "you are %s, which nothing proves; allowed: a caller who proves to be somebody, "+
			"over a Unix socket, with a client certificate or with a token", by)
	case v.Lifetime <= 0 || v.Lifetime > maxProposalTime || v.Person == "":
		return refuse(ErrApproval, "proposal: lifetime %v of %q; allowed: a time of at most %v and a person",
			v.Lifetime, v.Person, maxProposalTime)
	case b.amended.proposed.All >= maxProposals:
		return refuse(ErrOutOfRange, "proposals: %d; allowed: at most %d in one ledger", b.amended.proposed.All+1,
			maxProposals)
	}
	if b.bounded {
		return v.inTurn(b)
	}
	return nil
}

// inTurn refuses a proposal of somebody who has made so many that there may be no room for those of others.
func (v Propose) inTurn(b *Batch) error {
	if n := b.amended.proposed.by(v.Person); n >= maxProposalsOf {
		return refuse(ErrOutOfRange, "proposals of %s: %d; allowed: at most %d by one person in one ledger; another "+
			"officer can propose", v.Person, n+1, maxProposalsOf)
	}
	var open []OpenProposal
	for _, p := range b.amended.proposals {
		if p.Person == v.Person && !b.now.After(p.Deadline) {
			open = append(open, p)
		}
	}
	if len(open) >= maxOpenProposals {
		return refuse(ErrOutOfRange, "open proposals of %s: %d; allowed: at most %d by one person in one ledger; have "+
			"one approved, or take one back: accountctl approvals withdraw %s --proposal %d", v.Person, len(open)+1,
			maxOpenProposals, b.spec().Name, open[0].Position)
	}
	return nil
}

func (v Propose) reconciles() bool { return v.Action.reconciles() }

func (v Propose) amend(a amendments, e Entry) amendments {
	a.proposed = a.proposed.and(v.Person)
	a.proposals = append(slices.Clip(a.proposals), OpenProposal{Position: e.Position,
		Principal: e.Writer.Principal, Deadline: e.Time.Add(v.Lifetime), Propose: v})
	return a
}

// Withdraw takes back a proposal, so that nobody can approve it any more.
type Withdraw struct {
	Proposal uint64 `field:"1" need:"the position of the entry that proposed it, ≥ 1"`
	Reason   string `field:"2" most:"1024"`
}

// Kind implements Action.
func (Withdraw) Kind() string { return "withdraw" }

// Details implements Action.
func (v Withdraw) Details() Details { return Details{About: v.Proposal, Reason: v.Reason} }

func (v Withdraw) decide(b *Batch) error {
	_, err := b.amended.proposal(v.Proposal)
	return err
}

func (Withdraw) reconciles() bool { return true }

func (v Withdraw) amend(a amendments, _ Entry) amendments { return a.settled(v.Proposal) }

// proposal finds an open proposal.
func (a amendments) proposal(position uint64) (OpenProposal, error) {
	for _, p := range a.proposals {
		if p.Position == position {
			return p, nil
		}
	}
	return OpenProposal{}, refuse(ErrApproval, "proposal: %d; allowed: the position of one that is open: neither "+
		"approved nor withdrawn", position)
}

// settled returns a without a proposal.
func (a amendments) settled(position uint64) amendments {
	var rest []OpenProposal
	for _, p := range a.proposals {
		if p.Position != position {
			rest = append(rest, p)
		}
	}
	a.proposals = rest
	return a
}

// approved refuses a request that says it is done by an approval, unless its action is exactly what is
// proposed, in time, by somebody else. Time is that of the entry, which is decided again with the
// same time.
func (b *Batch) approved(r Request, now time.Time) error {
	if r.Approval == nil {
		return nil
	}
	a, by := r.Approval, r.Writer.Principal
	p, err := b.amended.proposal(a.Proposal)
	switch {
	case err != nil:
		return err
	case !reflect.DeepEqual(Action(p.Action), Asked(r.Action)):
		return refuse(ErrApproval, "proposal: %d proposes something else; allowed: exactly what it proposes",
			p.Position)
	case now.After(p.Deadline):
		return refuse(ErrApproval, "proposal: %d could be approved until %s; allowed: to propose it again", p.Position,
			p.Deadline.UTC().Format(time.RFC3339))
	case r.Lapsed != "":
		return refuse(ErrApproval, "proposal: %d %s; allowed: to propose it again", p.Position, r.Lapsed)
	case b.amended.ofAnEarlierLoss(p):
		return refuse(ErrApproval, "proposal: %d was made before the ledger was restored again, and is about an "+
			"earlier loss; allowed: to propose it again, about both", p.Position)
	case strings.HasPrefix(by, Unverified):
		return refuse(ErrApproval, "you are %s, which nothing proves; allowed: a caller who proves to be somebody", by)
	case a.Proposer != p.Principal:
		return refuse(ErrApproval, "proposal: %d is of %s, not of %s; allowed: its proposer", p.Position, p.Principal,
			a.Proposer)
	case a.Person == "" || a.Person == p.Person || by == p.Principal:
		return refuse(ErrApproval, "you are %s, who proposed %d as %s; allowed: another person", by, p.Position,
			p.Principal)
	}
	return nil
}

func (Withdraw) ofDataset() {}
