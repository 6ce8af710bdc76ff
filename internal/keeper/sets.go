package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
	"github.com/dpaccountant/accountant/internal/ledger/set"
)

// DoSet decides a request about several ledgers, and answers after the commit. All members are charged or
// none; a refusal is a *set.Refusal. As with Do, the request stays in flight when ctx ends, and gets its
// first receipt when it is sent again, whatever has become of the ledgers.
func (k *Keeper) DoSet(ctx context.Context, r SetRequest) (SetResult, error) {
	if err := k.enter(ctx); err != nil {
		return SetResult{}, err
	}
	defer k.leave()
	if !k.sets.take(r.Writer) {
		return SetResult{}, fmt.Errorf("%w: writer %s of sets", ErrBusy, r.Writer.Name)
	}
	c, result, err := k.prepareSet(ctx, r)
	if c == nil {
		k.sets.give(r.Writer)
		return result, err
	}
	if err := k.sets.add(c); err != nil {
		k.releaseAll(c.queues)
		k.sets.give(r.Writer)
		return SetResult{}, err
	}
	select {
	case <-c.done:
		return c.result, c.err
	case <-ctx.Done():
		return SetResult{}, ctx.Err()
	}
}

// take makes a lane busy, unless it is.
func (s *sets) take(w ledger.Writer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes[w] {
		return false
	}
	if s.lanes == nil {
		s.lanes, s.waiting = map[ledger.Writer]bool{}, map[string][]*setCall{}
	}
	s.lanes[w] = true
	return true
}

// prepareSet answers a duplicate, or finds what the decision needs: the ledgers are read, and the costs of
// new mechanisms found, before the request waits for others. So a slow ledger delays only its own sets.
func (k *Keeper) prepareSet(ctx context.Context, r SetRequest) (*setCall, SetResult, error) {
	journal := journals.Name(journals.Of(r.Writer.Name))
	var refusal error
	for range 2 {
		if written, err := k.written(journal, &r.Request); err != nil {
			return nil, SetResult{}, err
		} else if written {
			result, err := k.firstOfSet(journal, r.Request)
			return nil, result, err
		}
		if refusal != nil { // and it is not written: the journal was asked last
			break
		}
		c := &setCall{SetRequest: r, origin: k.config.Batch.origin(ctx), done: make(chan struct{})}
		if refusal = k.complete(ctx, c, journal); refusal == nil {
			return c, SetResult{}, nil
		}
	}
	return nil, SetResult{}, refusal
}

// complete finds the members of a call and what is done there, and reads them.
func (k *Keeper) complete(ctx context.Context, c *setCall, journal string) (err error) {
	v, members, err := c.Members(ctx)
	if err != nil {
		return err
	}
	c.Action, c.members = v, members
	if c.queues, err = k.acquireAll(ctx, append(c.names(), journal)); err != nil {
		return err
	}
	if err = k.readMembers(ctx, c); err != nil {
		k.releaseAll(c.queues)
	}
	return err
}

// readMembers reads the members' states and finds what new mechanisms cost there.
func (k *Keeper) readMembers(ctx context.Context, c *setCall) error {
	c.prices = make([]*budget.Prices, len(c.members))
	var first *ledger.Spec
	refusal := &set.Refusal{}
	together := c.Action.(ledger.Together)
	var weight int
	for i := range c.members {
		m := &c.members[i]
		if i > 0 && !together.AboutReservation() { // the same is asked of all members
			m.digest = c.members[0].digest
		} else {
			m.digest, weight = k.config.Digest(m.Action), ledger.Request{Action: m.Action}.Weight()
		}
		details := m.Action.Details()
		c.bytes += weight
		var unequal error
		var parent string
		err := c.queues[i].read(ctx, func(s *ledger.State) {
			spec := s.Spec()
			if first == nil {
				first = spec
			}
			if unequal = ledger.Alike(first, spec); unequal == nil {
				unequal = bounded(spec, together)
			}
			c.prices[i], parent = s.Unpriced(details), s.Parent()
		})
		if err == nil && parent != "" {
			_, err = k.capOf(ctx, parent) // which the decision then finds in memory
		}
		if err == nil {
			err = unequal
		}
		if err == nil {
			c.prices[i], err = k.find(ctx, c.prices[i])
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrLate):
			return fmt.Errorf("ledger %s: %w", m.Ledger, err)
		case err != nil:
			refusal.Refused = append(refusal.Refused, set.MemberRefusal{Ledger: m.Ledger, Err: err})
		}
	}
	if len(refusal.Refused) > 0 {
		refusal.Set = c.names()
		return refusal
	}
	return nil
}
