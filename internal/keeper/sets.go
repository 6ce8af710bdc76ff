// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/budget"
)

// DoSet decides a request about several ledgers, and answers after the commit. All members are charged or
// none; a refusal is a *ledger.SetRefusal. As with Do, the request stays in flight when ctx ends, and gets its
// first receipt when it is sent again, whatever has become of the ledgers.
func (k *Keeper) DoSet(ctx context.Context, r SetRequest) (s SetResult, err error) {
	journal, err := k.acquire(ctx, ledger.JournalName(ledger.JournalOf(r.Writer.Name)))
	if err != nil {
		return s, err
	}
	defer k.release(journal, 1)
	c := &setCall{SetRequest: r, call: newCall(k.config.Batch.origin(ctx))}
	journal.mu.Lock()
	c.w, err = journal.occupy(r.Writer, &c.call)
	journal.mu.Unlock()
	if err != nil {
		return s, err
	}
	done, err := k.prepareSet(ctx, c, journal.name)
	if err == nil && !done {
		if err = k.sets.add(c); err != nil {
			k.releaseAll(c.queues)
		}
	}
	if err != nil || done {
		journal.vacate(c.w)
		return SetResult{c.result, c.placed, c.by}, err
	}
	if s.Result, err = c.wait(ctx); err == nil {
		s.Members, s.Contribution = c.placed, c.by
	}
	return s, err
}

// prepareSet finds what the decision needs: the ledgers are read, and the costs of new mechanisms found, before the
// request waits for others. So a slow ledger delays only its own sets. The decision knows a duplicate by its lane. Here
// one is answered, and done then, if what it asks for would be refused now: the store is asked only for that, and last.
func (k *Keeper) prepareSet(ctx context.Context, c *setCall, journal string) (done bool, err error) {
	refusal := k.complete(ctx, c, journal)
	if refusal == nil {
		return false, nil
	}
	if written, err := k.written(journal, &c.Request); err != nil {
		return false, err
	} else if !written {
		return false, refusal
	}
	c.result, c.placed, c.by, err = k.firstOfSet(journal, c.Request)
	return true, err
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
	refusal := &ledger.SetRefusal{}
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
			refusal.Refused = append(refusal.Refused, ledger.MemberRefusal{Ledger: m.Ledger, Err: err})
		}
	}
	if len(refusal.Refused) > 0 {
		refusal.Set = c.names()
		return refusal
	}
	return nil
}
