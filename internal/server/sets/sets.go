// Package sets takes charges to several ledgers at once from the API to the keeper, and makes the
// answers: which ledgers a request means, whether the caller has the right to each of them, what the
// receipt says of each, and which of them have refused it.
package sets

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/sets"
)

// Call is what one call brings besides its request.
type Call struct {
	Keeper    *keeper.Keeper
	Passage   *gate.Passage
	Principal string
	Charges   func(n int) // counts the call's charges for fair use
}

// request is a request about several ledgers, of any kind.
type request struct {
	Call
	lane      lane
	set       *pb.LedgerSet // nil of a commit or a release, which name a reservation
	held      *pb.SetReservation
	of        pb.SetPart_Contribution // of a charge or a reservation
	checkOnly bool

	asked ledger.Action // as it was sent: its ranges may not be checked yet
	// action converts it for ledgers of one adjacency and a caller with this holder.
	action func(adj mechanism.Adjacency, holder string) (ledger.Action, error)
}

type lane interface {
	GetWriter() string
	GetSequence() uint64
}

// Report charges a set.
func (c Call) Report(ctx context.Context, req *pb.ReportSetRequest) (keeper.SetResult, error) {
	asked, err := wire.ReadAction(req.GetCharge())
	if err != nil {
		return keeper.SetResult{}, err
	}
	return request{Call: c, lane: req, set: req.GetSet(), of: req.GetContribution(),
		checkOnly: req.GetCheckOnly(), asked: asked,
		action: func(adj mechanism.Adjacency, _ string) (ledger.Action, error) {
			return wire.ToAction("charge", adj, req.GetCharge())
		}}.do(ctx)
}

// Reserve sets events aside in a set.
func (c Call) Reserve(ctx context.Context, req *pb.ReserveSetRequest) (keeper.SetResult, error) {
	asked, err := wire.ReadAction(req.GetReserve())
	if err != nil {
		return keeper.SetResult{}, err
	}
	return request{Call: c, lane: req, set: req.GetSet(), of: req.GetContribution(), asked: asked,
		action: func(adj mechanism.Adjacency, holder string) (ledger.Action, error) {
			v, err := wire.To[ledger.Reserve]("reserve", adj, req.GetReserve())
			v.Holder = holder
			return v, err
		}}.do(ctx)
}

// Commit charges a part of what a set has reserved.
func (c Call) Commit(ctx context.Context, req *pb.CommitSetRequest) (keeper.SetResult, error) {
	m := req.GetCommit()
	commit := &pb.Commit{Events: m.GetEvents(), Labels: m.GetLabels(), Reservation: m.GetReservation().GetPosition()}
	asked, err := wire.ReadAction(commit)
	if err != nil {
		return keeper.SetResult{}, err
	}
	return request{Call: c, lane: req, held: m.GetReservation(), asked: asked,
		action: func(adj mechanism.Adjacency, holder string) (ledger.Action, error) {
			v, err := wire.To[ledger.Commit]("commit", adj, commit)
			v.Holder = holder
			return v, err
		}}.do(ctx)
}

// Release gives back what is left of what a set has reserved.
func (c Call) Release(ctx context.Context, req *pb.ReleaseSetRequest) (keeper.SetResult, error) {
	m := req.GetRelease()
	release := &pb.Release{Reason: m.GetReason(), Reservation: m.GetReservation().GetPosition()}
	asked, err := wire.ReadAction(release)
	if err != nil {
		return keeper.SetResult{}, err
	}
	return request{Call: c, lane: req, held: m.GetReservation(), asked: asked,
		action: func(_ mechanism.Adjacency, holder string) (ledger.Action, error) {
			v, err := wire.To[ledger.Release]("release", 0, release)
			v.Holder = holder
			return v, err
		}}.do(ctx)
}

// do has the request decided.
func (r request) do(ctx context.Context) (keeper.SetResult, error) {
	writer, err := wire.ToWriter(r.Principal, r.lane.GetWriter())
	if err != nil {
		return keeper.SetResult{}, err
	}
	if err := wire.CheckSequence(writer, r.lane.GetSequence()); err != nil {
		return keeper.SetResult{}, err
	}
	v := ledger.Together{Action: r.asked}
	if v.AboutReservation() {
		err = r.checkReservation(&v)
	} else {
		err = toSet(r.set, &v)
		if err == nil {
			v.Contribution, err = wire.ToContribution("contribution", r.of)
		}
		if err == nil {
			err = wire.CheckContribution(v.Contribution, r.asked.Details().Events)
		}
	}
	if err != nil {
		return keeper.SetResult{}, err
	}
	of := keeper.SetRequest{Request: ledger.Request{Writer: writer, Sequence: r.lane.GetSequence(),
		Digest: record.Digest(v), Action: v, CheckOnly: r.checkOnly}}
	of.Members = func(ctx context.Context) (ledger.Together, []keeper.SetMember, error) { return r.members(ctx, v) }
	result, err := r.Keeper.DoSet(ctx, of)
	if err == nil && result.Replayed { // whoever has lost the right to a ledger does not see its receipt
		for _, m := range result.Members {
			if err := r.Passage.On(m.Ledger).Check(); err != nil {
				return keeper.SetResult{}, r.denied(v.Range, err)
			}
		}
	}
	return result, err
}

// toSet converts the ledgers of a request.
func toSet(m *pb.LedgerSet, v *ledger.Together) error {
	members, err := sets.ToMembers(m)
	if err != nil {
		return err
	}
	v.Range = members.Range
	v.Members = make([]ledger.Member, 0, len(members.Names))
	for _, name := range members.Names {
		v.Members = append(v.Members, ledger.Member{Ledger: name})
	}
	return nil
}

func (r request) checkReservation(v *ledger.Together) error {
	v.Journal = r.held.GetJournal()
	if _, ok := ledger.JournalNumber(v.Journal); !ok || r.held.GetPosition() == 0 {
		return wire.Invalid("reservation", fmt.Sprintf("%d in %s", r.held.GetPosition(), wire.Quote(v.Journal)),
			"the journal and the position that you were told when you reserved in several ledgers")
	}
	return nil
}

// members finds the ledgers of a request, with the caller's right to each and what is done there; and the
// action as the journal has it.
func (r request) members(ctx context.Context, v ledger.Together) (ledger.Together, []keeper.SetMember, error) {
	named, err := r.resolve(ctx, &v)
	if err != nil {
		return v, nil, err
	}
	list := make([]keeper.SetMember, len(named))
	holders := make([]string, len(named))
	for i, m := range named {
		may := r.Passage.On(m.Ledger)
		if err := may.Check(); err != nil {
			return v, nil, r.denied(v.Range, err)
		}
		list[i] = keeper.SetMember{Ledger: m.Ledger, Reservation: m.Position, Caller: may.Caller()}
		holders[i] = may.Holder()
	}
	r.Charges(len(named) - 1) // the call itself was counted
	adjacency, err := r.Keeper.Adjacency(ctx, list[0].Ledger)
	if err != nil {
		return v, nil, fmt.Errorf("ledger %s: %w", list[0].Ledger, err)
	}
	var first ledger.Action
	for i := range list {
		if i == 0 || holders[i] != holders[i-1] {
			if first, err = r.action(adjacency, holders[i]); err != nil {
				return v, nil, err
			}
			if err := canBeStored(first, len(list)); err != nil {
				return v, nil, err
			}
		}
		list[i].Action = ledger.Together{Action: first}.In(ledger.Member{Reservation: list[i].Reservation})
	}
	if !v.AboutReservation() {
		for i := range list {
			list[i].Reservation = 0
		}
	}
	// The journal says to which group of callers a reservation belongs, where it is the same in all.
	same := !slices.ContainsFunc(holders, func(h string) bool { return h != holders[0] })
	if !same {
		first, err = r.action(adjacency, "")
	}
	v.Action = first
	return v, list, err
}

// canBeStored refuses what is certain to be too large for the store, since each ledger's entry has all of the action.
// Otherwise a short request with many events would be decided in a thousand ledgers, for seconds in which they and all
// other sets wait, only to be refused.
func canBeStored(action ledger.Action, ledgers int) error {
	each := proto.Size(wire.FromAction(action))
	if each*ledgers <= ledger.MaxAppendBytes {
		return nil
	}
	return fmt.Errorf("%w: set: %d ledgers, in each of which %d bytes or more would be stored; allowed: at most %d "+
		"bytes altogether, so fewer ledgers or fewer distinct events in one call", ledger.ErrTooLarge, ledgers, each,
		ledger.MaxAppendBytes)
}

// resolve finds the names of the ledgers; of a commit or a release with the positions of their
// reservations.
func (r request) resolve(ctx context.Context, v *ledger.Together) ([]ledger.Member, error) {
	switch {
	case v.AboutReservation():
		return r.reserved(ctx, v)
	case v.Range == nil:
		return v.Members, nil
	}
	// Otherwise ranges would tell which names are taken to somebody who may not see them.
	for _, bound := range []string{v.Range.Prefix + v.Range.First, v.Range.Prefix + v.Range.Last} {
		if err := r.Passage.On(bound).Check(); err != nil {
			return nil, r.denied(v.Range, err)
		}
	}
	names, err := r.Keeper.InRange(ctx, *v.Range, nil)
	members := make([]ledger.Member, len(names))
	for i, name := range names {
		members[i].Ledger = name
	}
	return members, err
}

// reserved finds what was reserved, for whoever it belongs to, and with which contribution.
func (r request) reserved(ctx context.Context, v *ledger.Together) ([]ledger.Member, error) {
	made, by, err := r.Keeper.Reserved(ctx, v.Journal, r.held.GetPosition())
	if err != nil {
		return nil, err
	}
	holder := made.Action.(ledger.Reserve).Holder
	mine := by == r.Principal || holder != "" && r.Passage.On(made.Members[0].Ledger).Holder() == holder
	if !mine { // as if there were none
		return nil, keeper.NotReserved(v.Journal, r.held.GetPosition())
	}
	v.Contribution = made.Contribution
	return made.Members, nil
}

// denied is the error of a call that may not pass. It does not name a ledger that the caller has not
// named. A daemon that does not know the policy now has denied nothing, so the caller may try again.
func (r request) denied(asked *ledger.NameRange, err error) error {
	if asked == nil && r.set != nil || !errors.Is(err, gate.ErrDenied) {
		return err
	}
	of := "all ledgers of the reservation"
	if asked != nil {
		of = fmt.Sprintf("all ledgers of the range with the prefix %q", asked.Prefix)
	}
	return fmt.Errorf("%w: you are %s, who has to be a reporter on %s", gate.ErrDenied, r.Principal, of)
}

// FromResult makes the API's view of a receipt; nil where nothing was written.
func FromResult(r keeper.SetResult) *pb.SetReceipt {
	at := r.Receipt
	if at.Position == 0 {
		return nil
	}
	out := &pb.SetReceipt{StoreId: at.StoreID, Journal: at.Ledger, Writer: at.Writer.Name, Sequence: at.Sequence,
		Position: at.Position, HeadHash: at.Head[:], Time: timestamppb.New(at.Time),
		Contribution: pb.SetPart_Contribution(r.Contribution), Members: make([]*pb.SetMember, len(r.Members))}
	for i := range r.Members {
		m := &r.Members[i]
		out.Members[i] = &pb.SetMember{Ledger: m.Ledger, Position: m.Position, HeadHash: m.Head[:]}
	}
	return out
}
