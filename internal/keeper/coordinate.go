// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"fmt"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/keeper/fleet"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// add has a call wait for the coordinator.
func (s *sets) add(c *setCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit := s.k.config.QueueRequests; s.members > 0 && s.members+len(c.members) > limit {
		return fmt.Errorf("%w: sets of %d ledgers wait altogether; allowed: %d", ledger.ErrUnavailable, s.members,
			limit)
	}
	if s.waiting == nil {
		s.waiting = map[string][]*setCall{}
	}
	c.since = time.Now()
	by := c.Writer.Principal
	if len(s.waiting[by]) == 0 {
		s.turns = append(s.turns, by)
	}
	s.waiting[by] = append(s.waiting[by], c)
	s.calls, s.members = s.calls+1, s.members+len(c.members)
	s.came.wake()
	s.start()
	return nil
}

// poke has the coordinator look again, as ledgers were let go. Its caller holds no lock.
func (s *sets) poke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start()
}

// start starts the coordinator if it has something to do. Its caller holds mu.
func (s *sets) start() {
	if !s.running && len(s.turns) > 0 {
		s.running = true
		go s.coordinate()
	}
}

const (
	// waveMembers and waveBytes bound what a wave takes: the entries that it writes, and about how many
	// bytes. A single larger set is a wave.
	waveMembers = 4_000
	waveBytes   = 2 << 20
)

// next takes the calls of the next wave, and places their claim. It takes one call of each principal in
// turn, so that one who sends many large sets has others wait for one wave at most. Calls of which a
// ledger is held by somebody else, as while a dataset is registered, are left for later, for a second at
// most: until then a wave waits for no more than the batches that its ledgers are writing.
func (s *sets) next() (calls []*setCall, queues []*queue, c *claim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.k.placing.Lock()
	defer s.k.placing.Unlock()
	taken := map[*queue]bool{}
	members, bytes, full := 0, 0, false
	for skipped := 0; !full && skipped < len(s.turns); {
		by := s.turns[0]
		s.turns = append(s.turns[1:], by)
		i := slices.IndexFunc(s.waiting[by], (*setCall).ready)
		if i < 0 {
			skipped++
			continue
		}
		call := s.waiting[by][i]
		if len(calls) > 0 && (members+len(call.members) > waveMembers || bytes+call.bytes > waveBytes) {
			full = true // it is this principal's turn in the next wave
			s.turns = append([]string{by}, s.turns[:len(s.turns)-1]...)
			continue
		}
		skipped = 0
		members, bytes = members+len(call.members), bytes+call.bytes
		s.remove(by, i)
		calls = append(calls, call)
		for _, q := range call.queues {
			if !taken[q] {
				taken[q] = true
				queues = append(queues, q)
			}
		}
	}
	if len(calls) == 0 {
		s.running = false
		return nil, nil, nil
	}
	return calls, queues, place(queues)
}

// remove takes a waiting call out of the list. Its caller holds mu.
func (s *sets) remove(by string, i int) {
	s.calls, s.members = s.calls-1, s.members-len(s.waiting[by][i].members)
	if s.waiting[by] = slices.Delete(s.waiting[by], i, i+1); len(s.waiting[by]) == 0 {
		delete(s.waiting, by)
		s.turns = slices.DeleteFunc(s.turns, func(p string) bool { return p == by })
	}
}

// patience is how long a call lets others hold its ledgers first. Then its claim is placed behind theirs:
// otherwise it would wait for ever where a ledger always has a holder, as a parent of many new children.
const patience = time.Second

// ready reports whether nobody else holds a ledger of the call, or waits to, or it has waited too long.
func (c *setCall) ready() bool {
	if time.Since(c.since) > patience {
		return true
	}
	for _, q := range c.queues {
		q.mu.Lock()
		foreign := q.held || len(q.claims) > 0
		q.mu.Unlock()
		if foreign {
			return false
		}
	}
	return true
}

// coordinate decides waves until no call waits.
func (s *sets) coordinate() {
	var took time.Duration // by the last wave
	for answered := 0; ; {
		s.gather(answered, took)
		calls, queues, c := s.next()
		if len(calls) == 0 {
			return
		}
		began := time.Now()
		<-c.reached
		w := &wave{round: round{k: s.k}}
		fleet.UntilWritten(calls, w.try, w.fail)
		s.k.letGo(queues)
		for _, call := range calls {
			call.w.q.vacate(call.w)
			s.k.releaseAll(call.queues)
			call.done <- struct{}{}
		}
		answered, took = len(calls), time.Since(began)
	}
}

// stragglers is how long a wave waits for callers at most.
const stragglers = 5 * time.Millisecond

// gather waits for the callers that were just answered to come back, while other calls wait, too. Callers that
// charge one set after the other then share a wave with those that wait, and its commit, instead of taking
// turns with them. It takes no longer than the last wave, which they would wait for otherwise.
func (s *sets) gather(answered int, took time.Duration) {
	s.mu.Lock()
	expected := s.calls + answered
	s.mu.Unlock()
	var late <-chan time.Time
	for {
		s.mu.Lock()
		came, enough := s.came.wait(), s.calls >= expected || s.members >= waveMembers
		s.mu.Unlock()
		if enough {
			return
		}
		if late == nil {
			late = time.After(min(took, stragglers))
		}
		select {
		case <-came:
		case <-late:
			return
		}
	}
}
