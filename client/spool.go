// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Spool is a share of a ledger's budgets that a job may spend without the network. It was set aside in the ledger
// before, so nothing can be overrun, and whatever is not told to the ledger by the end of the reservation is charged.
//
// [Client.TakeSpool] sets it aside, and needs the daemon. [OpenSpool] and [Spool.Spend] need only the file, which keeps
// each charge, synced to the disk before Spend returns. [Spool.Deliver] sends what was spent to the daemon, each charge
// once, however often it is cut off. Several processes of one machine may use the file; a copy of it must not be used,
// as the copy would spend the same share again.
type Spool struct{ file *spoolFile }

// ErrSpoolOver means that a spool may not be spent any more: its time is nearly over by this machine's clock, or it was
// closed.
var ErrSpoolOver = errors.New("nothing more may be spent of this share")

// SpoolMargin is how long before the end of its reservation a spool stops to be spent: an hour by which this machine's
// clock may be wrong, and an hour for what is under way.
const SpoolMargin = 2 * time.Hour

// SpoolStatus is how a spool stands.
type SpoolStatus struct {
	Ledger      string
	Reservation uint64
	Until       time.Time // by this machine's clock: then nothing more may be spent
	Closed      bool
	Rest        []*pb.Event // what may still be spent
	Spent       int         // charges
	Delivered   int         // of these: those that the ledger has as entries of their own
	Late        int         // of these: those that the end of the reservation has charged
}

// TakeSpool sets events aside in a ledger with budgets, for a lifetime of which [SpoolMargin] is kept back, and makes
// the file of the share. If it is cut off, it is called again with the same arguments.
func (c *Client) TakeSpool(ctx context.Context, path, name string, events []*pb.Event,
	lifetime time.Duration) (*Spool, error) {
	const op = "TakeSpool"
	if lifetime <= SpoolMargin {
		return nil, invalid(op, name, fmt.Sprintf("lifetime: %v; allowed: more than %v, which are kept back for "+
			"clocks that are wrong", lifetime, SpoolMargin))
	}
	w, err := reserveOf(op, name, events, lifetime, nil)
	if err != nil {
		return nil, err
	}
	l, err := c.GetLedger(ctx, name)
	if err != nil {
		return nil, err
	}
	adjacency, err := wire.ToAdjacency("adjacency", l.GetLedger().GetSpec().GetAdjacency())
	if err != nil {
		return nil, invalid(op, name, err.Error())
	}
	wanted := spoolTaken{Ledger: name, Key: uuid.NewString(), Reserve: encode(w.Action), Adjacency: adjacency}
	s := &Spool{&spoolFile{path: path}}
	if err := s.file.make(wanted); err != nil {
		return nil, failure(op, name, err)
	}
	taken := s.file.taken
	if s.file.reserved != nil {
		return nil, invalid(op, name, fmt.Sprintf("%s: has a share of %s already; allowed: a new file", path,
			taken.Ledger))
	}
	wanted.Key = taken.Key
	if !taken.equal(wanted) {
		return nil, invalid(op, name, fmt.Sprintf("%s: another share was begun there; allowed: a new file", path))
	}
	answer, err := c.ReserveOnce(ctx, name, taken.Key, events, lifetime, nil)
	if err != nil {
		return nil, err
	}
	until := answer.GetExpireTime().AsTime()
	if mine := taken.Time.Add(lifetime); mine.Before(until) { // this machine's clock is behind the daemon's
		until = mine
	}
	return s, named(op, name, s.file.change(func() (spoolLine, error) {
		return spoolLine{Reserved: &spoolReserved{answer.GetReceipt().GetPosition(), until.Add(-SpoolMargin)}}, nil
	}))
}

// OpenSpool opens the file of a share. It needs no network.
func OpenSpool(path string) (*Spool, error) {
	s := &Spool{&spoolFile{path: path}}
	err := s.file.read()
	if err == nil && s.file.reserved == nil {
		err = fmt.Errorf("%s: the share was not set aside to the end; allowed: to take it again, with the same "+
			"arguments", path)
	}
	return s, named("OpenSpool", "", err)
}

// Spend takes events from the share, all of them or none, and returns once they are on the disk. Call it before their
// result is released. With an error of which the code is RESOURCE_EXHAUSTED the share does not hold so much; with any
// error nothing may be released.
func (s *Spool) Spend(events []*pb.Event, labels map[string]string) error {
	f := s.file
	return named("Spend", f.taken.Ledger, f.change(func() (spoolLine, error) {
		switch {
		case f.closed:
			return notSpent(codes.FailedPrecondition, ErrSpoolOver, "%v: it was closed", ErrSpoolOver)
		case !f.now().Before(f.reserved.Until):
			return notSpent(codes.FailedPrecondition, ErrSpoolOver, "%v: its reservation ends %v after %v, and clocks "+
				"may be wrong", ErrSpoolOver, SpoolMargin, f.reserved.Until)
		}
		m := &pb.Commit{Reservation: f.reserved.Position, Events: events, Labels: labels}
		v, err := wire.To[ledger.Commit]("commit", f.taken.Adjacency, m)
		if err == nil {
			err = wire.CheckSize(m)
		}
		if err != nil {
			return notSpent(codes.InvalidArgument, err, "%v", err)
		}
		if _, wrong, held := f.rest.Without(v.Events); wrong >= 0 {
			e := v.Events[wrong]
			return notSpent(codes.ResourceExhausted, ErrBudget, "events[%d]: %d × %v; allowed: at most %d, what is "+
				"left of this share", wrong, e.Count, e.Mechanism, held)
		}
		return spoolLine{Spent: &spoolSpent{Key: uuid.NewString(), Commit: encode(m)}}, nil
	}))
}

func notSpent(code codes.Code, cause error, format string, args ...any) (spoolLine, error) {
	return spoolLine{}, &Error{Code: code, Message: fmt.Sprintf(format, args...), cause: cause}
}

// Deliver sends what was spent to the daemon, in order. It may be cut off anywhere and called again: each charge is
// written once. If the reservation has ended meanwhile, its end has charged them, and nothing is charged again. Other
// goroutines and processes may go on spending.
func (s *Spool) Deliver(ctx context.Context, c *Client) (SpoolStatus, error) {
	f := s.file
	for {
		if err := f.read(); err != nil {
			return s.status(), named("Deliver", f.taken.Ledger, err)
		}
		next := f.undelivered()
		if next == nil {
			return s.status(), nil
		}
		m := new(pb.Commit)
		if err := proto.Unmarshal(next.Commit, m); err != nil {
			return s.status(), failure("Deliver", f.taken.Ledger, err)
		}
		answer, err := c.once(ctx, "Deliver", f.taken.Ledger, next.Key, Write{Action: m, Late: true})
		keys := []string{next.Key}
		if err == nil && answer.GetAlreadyCharged() {
			keys, answer, err = s.late(ctx, c)
		}
		if err != nil {
			return s.status(), err
		}
		told := &spoolDelivered{keys, encode(answer.GetReceipt()), answer.GetAlreadyCharged()}
		if err := f.change(func() (spoolLine, error) { return spoolLine{Delivered: told}, nil }); err != nil {
			return s.status(), named("Deliver", f.taken.Ledger, err)
		}
	}
}

// late asks about all charges together that came after the end of the reservation: the rest that it charged must be
// enough for them all.
func (s *Spool) late(ctx context.Context, c *Client) (keys []string, answer *pb.WriteResponse, err error) {
	f := s.file
	keys, events := f.withoutEntry()
	all := &pb.Commit{Reservation: f.reserved.Position,
		Events: wire.FromEvents(mechanism.EventsOf(mechanism.Merge(events)))}
	answer, err = c.once(ctx, "Deliver", f.taken.Ledger, uuid.NewString(), Write{Action: all, Late: true})
	return keys, answer, err
}

// Close ends spending, delivers what was spent, and gives the rest of the share back. If it is cut off, it is called
// again. The caller asserts that nothing else was released, also by no copy of the file.
func (s *Spool) Close(ctx context.Context, c *Client, reason string) (SpoolStatus, error) {
	f := s.file
	err := f.change(func() (spoolLine, error) { return spoolLine{Closed: true}, nil })
	if err != nil {
		return s.status(), named("Close", f.taken.Ledger, err)
	}
	st, err := s.Deliver(ctx, c)
	if err != nil || st.Late > 0 || len(st.Rest) == 0 {
		return st, err
	}
	_, err = c.ReleaseOnce(ctx, f.taken.Ledger, f.taken.Key+"-rest", f.reserved.Position, reason)
	return st, err
}

// Status reads how the share stands. It needs no network.
func (s *Spool) Status() (SpoolStatus, error) {
	err := s.file.read()
	return s.status(), named("Status", s.file.taken.Ledger, err)
}

func (s *Spool) status() SpoolStatus {
	f := s.file
	f.mu.Lock()
	defer f.mu.Unlock()
	st := SpoolStatus{Ledger: f.taken.Ledger, Closed: f.closed, Spent: len(f.spent),
		Rest: wire.FromEvents(mechanism.EventsOf(f.rest.Rest))}
	if f.reserved != nil {
		st.Reservation, st.Until = f.reserved.Position, f.reserved.Until
	}
	for _, x := range f.spent {
		switch {
		case x.delivered == nil:
		case x.delivered.Late:
			st.Late++
		default:
			st.Delivered++
		}
	}
	return st
}

// named is failure, or nil, with the name of the call where err does not say it.
func named(op, ledger string, err error) error {
	if err == nil {
		return nil
	}
	e := failure(op, ledger, err)
	if e.Op == "" {
		e.Op, e.Ledger = op, ledger
	}
	return e
}
