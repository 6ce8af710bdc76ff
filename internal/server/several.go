// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/keeper"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
	"github.com/dpaccountant/accountant/internal/server/gate"
	"github.com/dpaccountant/accountant/internal/wire"
)

// isSeveral reports whether a lane is about several ledgers: it names them, or the journal of what was reserved in
// them.
func isSeveral(in *pb.Lane) bool {
	_, journal := ledger.JournalNumber(in.GetLedger())
	return in.GetLedgers() != nil || journal
}

// several is an action to be done in several ledgers, all of them or none.
type several struct {
	*service
	passage *gate.Passage
	who     string // the caller's principal
	lane    *pb.Lane
	held    uint64 // of a commit or a release: the position of the reservation in the lane's journal
	asked   ledger.Action
	action  func(mechanism.Adjacency) (ledger.Action, error)
}

// writeSeveral performs an action in several ledgers, counts the outcome, and answers. Each ledger remembers its own
// refusal.
func (s *service) writeSeveral(ctx context.Context, in *pb.Lane, path string,
	m proto.Message) (*pb.WriteResponse, error) {
	r := several{service: s, passage: passage(ctx), who: principal(ctx), lane: in,
		action: func(adj mechanism.Adjacency) (ledger.Action, error) { return wire.ToAction(path, adj, m) }}
	if m, ok := m.(interface{ GetReservation() uint64 }); ok {
		r.held = m.GetReservation()
	}
	var result keeper.SetResult
	writer, err := r.writer()
	if err == nil {
		result, err = r.decide(ctx, writer, path, m)
	}
	s.metrics.write(!in.GetCheckOnly(), result.Replayed, err)
	answer := &pb.WriteResponse{Replayed: result.Replayed, CheckOnly: in.GetCheckOnly() && !result.Replayed}
	var refusal *ledger.SetRefusal
	switch {
	case err == nil && answer.CheckOnly:
		for _, m := range result.Members {
			answer.Ledgers = append(answer.Ledgers, m.Ledger)
		}
	case err == nil:
		answer.Receipt = fromSetResult(result)
		s.reserved(answer, r.asked)
	case in.GetCheckOnly() && isRefusal(err) && errors.As(err, &refusal):
		answer.Refusal, answer.Ledgers = fromSetRefusal(refusal, false), refusal.Set
	default:
		if !in.GetCheckOnly() {
			s.refusals.addSet(writer, in.GetSequence(), err)
		}
		return nil, err
	}
	return answer, nil
}

// writer reads the lane as far as it is not about ledgers.
func (r *several) writer() (ledger.Writer, error) {
	writer, err := wire.ToWriter(r.who, r.lane.GetWriter())
	if err == nil {
		err = wire.CheckSequence(writer, r.lane.GetSequence())
	}
	if err != nil {
		return writer, wire.Under("lane", err)
	}
	kept := r.lane.GetLastReceipt()
	if _, ok := ledger.JournalNumber(kept.GetLedger()); !ok && kept != nil {
		return writer, wire.Invalid("lane.last_receipt.ledger", wire.Quote(kept.GetLedger()),
			"that of a receipt of several ledgers, such as "+ledger.JournalName(3))
	}
	return writer, r.compareReceipt("lane.last_receipt", kept.GetLedger(), kept)
}

// decide has the action decided in all ledgers.
func (r *several) decide(ctx context.Context, writer ledger.Writer, path string,
	m proto.Message) (keeper.SetResult, error) {
	var err error
	if r.asked, err = wire.ReadAction(m); err != nil {
		return keeper.SetResult{}, err
	}
	v := ledger.Together{Action: r.asked}
	if v.AboutReservation() {
		err = r.readReservation(path, &v)
	} else {
		err = r.readLedgers(&v)
	}
	if err != nil {
		return keeper.SetResult{}, err
	}
	of := keeper.SetRequest{Request: ledger.Request{Writer: writer, Sequence: r.lane.GetSequence(),
		Digest: record.Digest(v), Action: v, CheckOnly: r.lane.GetCheckOnly(), Policy: r.passage.Policy()}}
	of.Members = func(ctx context.Context) (ledger.Together, []keeper.SetMember, error) { return r.members(ctx, v) }
	result, err := r.keeper.DoSet(ctx, of)
	if err == nil && result.Replayed { // whoever has lost the right to a ledger does not see its receipt
		for _, m := range result.Members {
			if err := r.passage.On(m.Ledger).Check(); err != nil {
				return keeper.SetResult{}, r.denied(v.Range, err)
			}
		}
	}
	return result, err
}

// readLedgers reads which ledgers are charged, or where something is reserved, and whose rows the sensitivity bounds.
func (r *several) readLedgers(v *ledger.Together) error {
	if name := r.lane.GetLedger(); name != "" {
		return wire.Invalid("lane.ledger", wire.Quote(name), "a ledger that users charge, or to leave it out where "+
			"lane.ledgers is given")
	}
	members, err := wire.ToMembers("lane.ledgers", r.lane.GetLedgers())
	if err != nil {
		return err
	}
	v.Range = members.Range
	v.Members = make([]ledger.Member, 0, len(members.Names))
	for _, name := range members.Names {
		v.Members = append(v.Members, ledger.Member{Ledger: name})
	}
	if v.Contribution, err = wire.ToContribution("lane.contribution", r.lane.GetContribution()); err != nil {
		return err
	}
	if err = wire.CheckContribution(v.Contribution, r.asked.Details().Events); err != nil {
		return wire.Under("lane", err)
	}
	return nil
}

// readReservation reads what was reserved in several ledgers.
func (r *several) readReservation(path string, v *ledger.Together) error {
	const journal = "in lane.ledger the ledger of the reservation's receipt, which says in which ledgers it is"
	v.Journal = r.lane.GetLedger()
	switch {
	case r.lane.GetLedgers() != nil:
		return wire.Invalid("lane.ledgers", "given", journal)
	case r.lane.GetContribution() != 0:
		return wire.Invalid("lane.contribution", "given", journal)
	case r.held == 0:
		return wire.Invalid(path+".reservation", "missing or 0", "the position of the reservation's receipt")
	}
	return nil
}

// members finds the ledgers of a request, with the caller's right to each and what is done there; and the
// action as the journal has it.
func (r *several) members(ctx context.Context, v ledger.Together) (ledger.Together, []keeper.SetMember, error) {
	named, err := r.resolve(ctx, &v)
	if err != nil {
		return v, nil, err
	}
	list := make([]keeper.SetMember, len(named))
	holders := make([]string, len(named))
	for i, m := range named {
		may := r.passage.On(m.Ledger)
		if err := may.Check(); err != nil {
			return v, nil, r.denied(v.Range, err)
		}
		list[i] = keeper.SetMember{Ledger: m.Ledger, Reservation: m.Position, Caller: may.Caller(),
			Policy: may.Policy()}
		holders[i] = may.Holder()
	}
	callerOf(ctx).account.Count(len(named) - 1) // the call itself was counted
	adjacency, err := r.keeper.Adjacency(ctx, list[0].Ledger)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // which names the ledger
		err = fmt.Errorf("ledger %s: %w", list[0].Ledger, err)
	}
	if err != nil {
		return v, nil, err
	}
	action, err := r.action(adjacency)
	if err != nil {
		return v, nil, err
	}
	if err := canBeStored(action, len(list)); err != nil {
		return v, nil, err
	}
	for i := range list {
		held := ledger.Together{Action: ledger.HeldBy(action, holders[i])}
		list[i].Action = held.In(ledger.Member{Reservation: list[i].Reservation})
		if !v.AboutReservation() {
			list[i].Reservation = 0
		}
	}
	// The journal says to which group of callers a reservation belongs, where it is the same in all.
	v.Action = action
	if !slices.ContainsFunc(holders, func(h string) bool { return h != holders[0] }) {
		v.Action = ledger.HeldBy(action, holders[0])
	}
	return v, list, nil
}

// canBeStored refuses what is certain to be too large for the store, since each ledger's entry has all of the action.
// Otherwise a short request with many events would be decided in a thousand ledgers, for seconds in which they and all
// other sets wait, only to be refused.
func canBeStored(action ledger.Action, ledgers int) error {
	each := proto.Size(wire.FromAction(action))
	if each*ledgers <= ledger.MaxAppendBytes {
		return nil
	}
	return fmt.Errorf("%w: lane.ledgers: %d ledgers, in each of which %d bytes or more would be stored; allowed: at "+
		"most %d bytes altogether, so fewer ledgers or fewer distinct events in one call", ledger.ErrTooLarge, ledgers,
		each, ledger.MaxAppendBytes)
}

// resolve finds the names of the ledgers; of a commit or a release with the positions of their
// reservations.
func (r *several) resolve(ctx context.Context, v *ledger.Together) ([]ledger.Member, error) {
	switch {
	case v.AboutReservation():
		return r.whereReserved(ctx, v)
	case v.Range == nil:
		return v.Members, nil
	}
	// Otherwise ranges would tell which names are taken to somebody who may not see them.
	for _, bound := range []string{v.Range.Prefix + v.Range.First, v.Range.Prefix + v.Range.Last} {
		if err := r.passage.On(bound).Check(); err != nil {
			return nil, r.denied(v.Range, err)
		}
	}
	names, err := r.keeper.InRange(ctx, *v.Range, nil)
	members := make([]ledger.Member, len(names))
	for i, name := range names {
		members[i].Ledger = name
	}
	return members, err
}

// whereReserved finds what was reserved, for whoever it belongs to, and with which contribution.
func (r *several) whereReserved(ctx context.Context, v *ledger.Together) ([]ledger.Member, error) {
	made, by, err := r.keeper.Reserved(ctx, v.Journal, r.held)
	if err != nil {
		return nil, err
	}
	holder := made.Action.(ledger.Reserve).Holder
	mine := by == r.who || holder != "" && r.passage.On(made.Members[0].Ledger).Holder() == holder
	if !mine { // as if there were none
		return nil, keeper.NotReserved(v.Journal, r.held)
	}
	v.Contribution = made.Contribution
	return made.Members, nil
}

// denied is the error of a call that may not pass. It does not name a ledger that the caller has not
// named. A daemon that does not know the policy now has denied nothing, so the caller may try again.
func (r *several) denied(asked *ledger.NameRange, err error) error {
	if asked == nil && r.lane.GetLedgers() != nil || !errors.Is(err, gate.ErrDenied) {
		return err
	}
	of := "all ledgers of the reservation"
	if asked != nil {
		of = fmt.Sprintf("all ledgers of the range with the prefix %q", asked.Prefix)
	}
	return fmt.Errorf("%w: you are %s, who has to be a reporter on %s", gate.ErrDenied, r.who, of)
}

// fromSetResult makes the API's view of a receipt.
func fromSetResult(r keeper.SetResult) *pb.Receipt {
	out := wire.FromReceipt(r.Receipt)
	out.Contribution = wire.FromContribution(r.Contribution)
	out.Members = make([]*pb.ReceiptMember, len(r.Members))
	for i := range r.Members {
		m := &r.Members[i]
		out.Members[i] = &pb.ReceiptMember{Ledger: m.Ledger, Position: m.Position, HeadHash: m.Head[:]}
	}
	return out
}
