// SPDX-License-Identifier: Apache-2.0

// Package sessions answers questions about ledgers that grow: for each ledger it keeps a session of
// the accountant, which is ready for the next step.
package sessions

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// These bound what the sessions hold besides the questions that are being answered. A thousand
// ledgers with a few distinct mechanisms take a few megabytes. A single session may be larger
// than maxSessionBytes; pld.Cache bounds it.
const (
	maxSessions     = 1024
	maxSessionBytes = 64 << 20
	maxAnswers      = 16 // of one session
)

// Sessions answers questions about ledgers. Each ledger has a session of the accountant; those
// that were not asked for the longest time are forgotten. In one session questions are answered
// one after the other, in different ones at once.
type Sessions struct {
	// Answer asks the accountant: (*accountant.Session).Ask, which tests replace.
	Answer func(*accountant.Session, mechanism.Composition, accountant.Question) (accountant.Answer, error)

	ledgers Committed
	inTime  turns.InTime

	mu     sync.Mutex // held for moments only, never during an answer
	recent *simplelru.LRU[string, *session]
	bytes  int // of all sessions in recent
}

// Committed provides what a ledger has committed. *keeper.Keeper implements it.
type Committed interface {
	Summary(ctx context.Context, name string) (ledger.Summary, error)
	Composition(ctx context.Context, name string) (mechanism.Composition, ledger.Summary, error)
}

// session is the session of one ledger.
type session struct {
	turn       chan struct{} // full while somebody asks
	accountant accountant.Session

	// By Sessions.mu.
	bytes   int
	head    ledger.Head
	answers map[asked]accountant.Answer // about head
}

// asked is a question without its Stop function, so that it can be compared.
type asked struct {
	byDelta    bool
	given, gap float64
}

func keyOf(q accountant.Question) (k asked) {
	if q.Delta != nil {
		k = asked{byDelta: true, given: *q.Delta}
	} else {
		k.given = *q.Epsilon
	}
	if q.MaxGap != nil {
		k.gap = *q.MaxGap
	}
	return k
}

// New returns sessions about what ledgers have committed, whose questions wait for their turns by t.
func New(ledgers Committed, t turns.InTime) *Sessions {
	s := &Sessions{ledgers: ledgers, inTime: t, Answer: (*accountant.Session).Ask}
	recent, err := simplelru.NewLRU(maxSessions, func(_ string, old *session) { s.bytes -= old.bytes })
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	s.recent = recent
	return s
}

// Ask answers q, which has been checked, about a committed position of a ledger that is not
// older than the call. It waits for the ledger's session for half of the remaining time. After
// that it answers without the session, so that a long question does not make those behind it
// fail.
func (s *Sessions) Ask(ctx context.Context, name string,
	q accountant.Question) (accountant.Answer, ledger.Summary, error) {
	summary, err := s.ledgers.Summary(ctx, name)
	if err != nil {
		return accountant.Answer{}, summary, err
	}
	se := s.session(name)
	if a, ok := s.known(se, summary.Head, q); ok {
		return a, summary, nil
	}
	if err := s.inTime.Admit(ctx); err != nil {
		return accountant.Answer{}, summary, err
	}
	if !se.take(ctx) {
		se = newSession()
		se.turn <- struct{}{}
	}
	return s.inTurn(ctx, name, se, q)
}

// Cold answers q about a workload, for which no session is kept.
func (s *Sessions) Cold(ctx context.Context, c mechanism.Composition,
	q accountant.Question) (accountant.Answer, error) {
	if err := s.inTime.Admit(ctx); err != nil {
		return accountant.Answer{}, err
	}
	return s.inTime.Answer(ctx, q, func(q accountant.Question) (accountant.Answer, error) {
		return accountant.Ask(c,
			q)
	})
}

// session returns the session of a ledger that exists.
func (s *Sessions) session(name string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	se, ok := s.recent.Get(name)
	if !ok {
		se = newSession()
		s.recent.Add(name, se)
	}
	return se
}

func newSession() *session { return &session{turn: make(chan struct{}, 1)} }

// take waits for the session, and reports whether the caller now has it.
func (se *session) take(ctx context.Context) bool {
	select {
	case se.turn <- struct{}{}:
		return true
	default:
	}
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	select {
	case se.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// inTurn answers an admitted question with a session that the caller has, and gives the session
// back.
func (s *Sessions) inTurn(ctx context.Context, name string, se *session,
	q accountant.Question) (accountant.Answer, ledger.Summary, error) {
	giveBack := func() {
		s.settle(name, se)
		<-se.turn
	}
	c, summary, err := s.ledgers.Composition(ctx, name)
	if err != nil {
		giveBack()
		s.inTime.Leave(ctx)
		return accountant.Answer{}, summary, err
	}
	if a, ok := s.known(se, summary.Head, q); ok { // answered meanwhile
		giveBack()
		s.inTime.Leave(ctx)
		return a, summary, nil
	}
	a, err := s.inTime.Ending(giveBack).Answer(ctx, q, func(q accountant.Question) (accountant.Answer, error) {
		return s.compute(se, c, summary.Head, q)
	})
	return a, summary, err
}

// Now answers q about what a ledger has charged at a head, for a caller whose turn it is: q says when to stop. While
// somebody else has the ledger's session, it answers without it.
func (s *Sessions) Now(name string, c mechanism.Composition, head ledger.Head,
	q accountant.Question) (accountant.Answer, error) {
	se := s.session(name)
	if a, ok := s.known(se, head, q); ok {
		return a, nil
	}
	select {
	case se.turn <- struct{}{}:
		defer func() {
			s.settle(name, se)
			<-se.turn
		}()
	default:
		se = newSession()
	}
	return s.compute(se, c, head, q)
}

// compute asks the accountant in a session that the caller has, and empties the session if that fails or panics.
func (s *Sessions) compute(se *session, c mechanism.Composition, head ledger.Head,
	q accountant.Question) (a accountant.Answer, err error) {
	sound := false
	defer func() {
		if !sound {
			se.accountant = accountant.Session{}
		}
	}()
	if a, err = s.Answer(&se.accountant, c, q); err == nil {
		sound = true
		if !a.Stopped { // with more time it may become narrower
			s.remember(se, head, q, a)
		}
	}
	return a, err
}

// known returns the answer that q had about the same position, if there was one.
func (s *Sessions) known(se *session, head ledger.Head, q accountant.Question) (a accountant.Answer, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if se.head == head {
		a, ok = se.answers[keyOf(q)]
	}
	return a, ok
}

func (s *Sessions) remember(se *session, head ledger.Head, q accountant.Question, a accountant.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if se.head != head || len(se.answers) == maxAnswers || se.answers == nil {
		se.head, se.answers = head, make(map[asked]accountant.Answer, 1)
	}
	se.answers[keyOf(q)] = a
}

// settle counts the bytes that the session has grown to, and forgets other sessions if there
// are too many.
func (s *Sessions) settle(name string, se *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current, ok := s.recent.Peek(name); !ok || current != se {
		return // forgotten meanwhile
	}
	bytes := se.accountant.Bytes()
	s.bytes += bytes - se.bytes
	se.bytes = bytes
	for s.bytes > maxSessionBytes && s.recent.Len() > 1 {
		s.recent.RemoveOldest()
	}
}
