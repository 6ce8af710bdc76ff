// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/turns"
)

// books are ledgers of Poisson-sampled Gaussian steps; a name's value is their number.
type books struct {
	mu    sync.Mutex
	steps map[string]uint64
}

func (b *books) step(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steps[name]++
}

func (b *books) Summary(ctx context.Context, name string) (ledger.Summary, error) {
	_, summary, err := b.Composition(ctx, name)
	return summary, err
}

func (b *books) Composition(ctx context.Context, name string) (mechanism.Composition, ledger.Summary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.steps[name]
	if !ok {
		return mechanism.Composition{}, ledger.Summary{}, ledger.ErrNotFound
	}
	step := mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}}
	c := mechanism.Composition{Adjacency: mechanism.AddOrRemoveOne,
		Parts: []mechanism.Part{{Mechanism: step, Count: n}}}
	return c, ledger.Summary{Head: ledger.Head{Position: n}}, ctx.Err()
}

func newBooks(names ...string) *books {
	b := &books{steps: map[string]uint64{}}
	for _, name := range names {
		b.steps[name] = 1000
	}
	return b
}

// unmeasured is a meter that nobody reads.
type unmeasured struct{}

func (unmeasured) QuestionRefused()  {}
func (unmeasured) QuestionCut()      {}
func (unmeasured) LastCommit() int64 { return 0 }

// newTestInTime answers up to two questions at once, and turns a panic into an error.
func newTestInTime() turns.InTime {
	return turns.NewInTime(turns.NewRotation(2, time.Hour, unmeasured{}),
		func(_ context.Context, p any) error { return fmt.Errorf("panic: %v", p) })
}

func newTestSessions(ledgers Committed) *Sessions {
	return New(ledgers, newTestInTime())
}

// counted makes s count the questions that reach the accountant.
func counted(s *Sessions) *int {
	n, answer := new(int), s.Answer
	s.Answer = func(a *accountant.Session, c mechanism.Composition, q accountant.Question) (accountant.Answer, error) {
		*n++
		return answer(a, c, q)
	}
	return n
}

// While a ledger grows, a session's intervals hold what a cold answer proves.
func TestSessionsFollowTheLedger(t *testing.T) {
	t.Parallel()
	b := newBooks("a")
	s := newTestSessions(b)
	for range 5 {
		for _, q := range []accountant.Question{accountant.AtDelta(1e-5), accountant.AtEpsilon(1)} {
			got, summary, err := s.Ask(t.Context(), "a", q)
			if err != nil {
				t.Fatal(err)
			}
			c, now, _ := b.Composition(t.Context(), "a")
			if summary.Head != now.Head {
				t.Errorf("answer about %v; the ledger is at %v", summary.Head, now.Head)
			}
			cold, err := accountant.Ask(c, q)
			if err != nil {
				t.Fatal(err)
			}
			if q.Delta != nil &&
				(got.Epsilon < *cold.EpsilonLower || cold.Epsilon < *got.EpsilonLower ||
					got.Epsilon-*got.EpsilonLower > 1e-5) ||
				q.Epsilon != nil &&
					(got.LogDelta < *cold.LogDeltaLower || cold.LogDelta < *got.LogDeltaLower ||
						got.LogDelta-*got.LogDeltaLower > 1e-4) {
				t.Errorf("at %v: %+v; cold %+v", now.Head.Position, got, cold)
			}
		}
		b.step("a")
	}
	if _, _, err := s.Ask(t.Context(), "b", accountant.AtDelta(1e-5)); !errors.Is(err, ledger.ErrNotFound) ||
		s.recent.Len() != 1 {
		t.Errorf("no such ledger: %v, %d sessions", err, s.recent.Len())
	}
}

// A question about the same position is answered once, unless time had run out.
func TestSessionsKnowAnswers(t *testing.T) {
	t.Parallel()
	b := newBooks("a")
	s := newTestSessions(b)
	n := counted(s)
	gap := 1e-3
	coarse := accountant.AtDelta(1e-5)
	coarse.MaxGap = &gap
	for i, c := range []struct {
		question accountant.Question
		answers  int
	}{
		{accountant.AtDelta(1e-5), 1}, {accountant.AtDelta(1e-5), 1},
		{accountant.AtEpsilon(1e-5), 2}, {coarse, 3}, {coarse, 3}, {accountant.AtDelta(1e-5), 3},
	} {
		if _, _, err := s.Ask(t.Context(), "a", c.question); err != nil || *n != c.answers {
			t.Errorf("question %d: %d computed, %v; want %d", i, *n, err, c.answers)
		}
	}
	// One that ends while it is answered.
	answer := s.Answer
	ctx, end := context.WithCancel(t.Context())
	s.Answer = func(a *accountant.Session, c mechanism.Composition, q accountant.Question) (accountant.Answer, error) {
		end()
		return answer(a, c, q)
	}
	for i, want := range []int{4, 5, 5} {
		// the first is still being answered
		if _, _, err := s.Ask(ctx, "a", accountant.AtDelta(1e-6)); i > 0 && (err != nil || *n != want) {
			t.Errorf("%d computed, %v; want %d", *n, err, want)
		}
		ctx = t.Context()
	}
	b.step("a")
	for i := range 2 * maxAnswers {
		if _, _, err := s.Ask(t.Context(), "a", accountant.AtDelta(1e-5/float64(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	if se := s.session("a"); *n != 5+2*maxAnswers || len(se.answers) > maxAnswers {
		t.Errorf("%d computed, %d kept", *n, len(se.answers))
	}
}

// A long question keeps others of its ledger waiting for half of their time, others'
// ledgers not at all, and known answers not at all.
func TestSessionsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, sessionsWait)
}

func sessionsWait(t *testing.T) {
	s := newTestSessions(newBooks("a", "b"))
	known := accountant.AtDelta(1e-5)
	if _, _, err := s.Ask(t.Context(), "a", known); err != nil {
		t.Fatal(err)
	}
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	answer, slow := s.Answer, s.session("a")
	s.Answer = func(a *accountant.Session, c mechanism.Composition, q accountant.Question) (accountant.Answer, error) {
		if *q.Delta == 0.5 {
			close(begun)
			<-end
		} else if a == &slow.accountant && *q.Delta != 1e-9 {
			return accountant.Answer{}, errors.New("two in one session")
		}
		return answer(a, c, q)
	}
	go func() {
		_, _, err := s.Ask(t.Context(), "a", accountant.AtDelta(0.5))
		ended <- err
	}()
	<-begun
	for _, c := range []struct {
		ledger string
		q      accountant.Question
		time   time.Duration
	}{{"a", known, time.Hour}, {"b", accountant.AtDelta(1e-7), time.Hour},
		{"a", accountant.AtDelta(1e-7), 4 * time.Second}} {
		ctx, cancel := context.WithTimeout(t.Context(), c.time)
		if a, _, err := s.Ask(ctx, c.ledger, c.q); err != nil || !(a.Epsilon > 0) {
			t.Errorf("%s at δ = %g: %+v, %v", c.ledger, *c.q.Delta, a, err)
		}
		cancel()
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Ask(gone, "a", accountant.AtDelta(1e-8)); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that has ended: %v", err)
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, _, err := s.Ask(t.Context(), "a", accountant.AtDelta(1e-9)); err != nil {
		t.Errorf("after the long one: %v", err)
	}
}

// A session that fails or panics begins anew and is free for the next question.
func TestSessionsAfterFailure(t *testing.T) {
	t.Parallel()
	s := newTestSessions(newBooks("a"))
	ask := func(delta float64) error {
		_, _, err := s.Ask(t.Context(), "a", accountant.AtDelta(delta))
		return err
	}
	answer := s.Answer
	s.Answer = func(a *accountant.Session, c mechanism.Composition, q accountant.Question) (accountant.Answer, error) {
		got, err := answer(a, c, q)
		switch *q.Delta {
		case 0.1:
			panic("broken")
		case 0.2:
			return got, errors.New("broken")
		}
		return got, err
	}
	if err := ask(1e-5); err != nil || s.bytes == 0 {
		t.Fatalf("%v, %d bytes", err, s.bytes)
	}
	for _, delta := range []float64{0.1, 0.2} {
		if err := ask(delta); err == nil || s.bytes != 0 {
			t.Errorf("δ = %g: %v, %d bytes kept; want an error and none", delta, err, s.bytes)
		}
		if err := ask(delta / 1e3); err != nil || s.bytes == 0 {
			t.Errorf("after δ = %g: %v, %d bytes", delta, err, s.bytes)
		}
	}
}

// No more sessions and bytes are kept than allowed; the accounts are right.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range maxSessions + 10 {
		names = append(names, fmt.Sprint("ledger", i))
	}
	s := newTestSessions(newBooks(names...))
	real := s.Answer
	s.Answer = func(*accountant.Session, mechanism.Composition, accountant.Question) (accountant.Answer, error) {
		return accountant.Answer{}, nil
	}
	for _, name := range names {
		if _, _, err := s.Ask(t.Context(), name, accountant.AtDelta(1e-5)); err != nil {
			t.Fatal(err)
		}
	}
	if s.recent.Len() != maxSessions || s.recent.Contains(names[0]) {
		t.Errorf("%d sessions", s.recent.Len())
	}
	s.Answer = real
	s.bytes = maxSessionBytes // of others, which are not told apart here
	for _, name := range names[:3] {
		if _, _, err := s.Ask(t.Context(), name, accountant.AtDelta(1e-5)); err != nil {
			t.Fatal(err)
		}
	}
	if s.recent.Len() != 1 || !s.recent.Contains(names[2]) {
		t.Errorf("%d sessions of more than maxSessionBytes", s.recent.Len())
	}
	if se, _ := s.recent.Peek(names[2]); s.bytes != maxSessionBytes+se.bytes || se.bytes != se.accountant.Bytes() {
		t.Errorf("%d bytes; want %d more than %d", s.bytes, se.accountant.Bytes(), maxSessionBytes)
	}
}

// Many ask about ledgers that grow: every answer is about a position that was there.
func TestSessionsTogether(t *testing.T) {
	t.Parallel()
	b := newBooks("a", "b", "c")
	s := newTestSessions(b)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			name := string(rune('a' + i%3))
			last := uint64(0)
			for range 10 {
				b.step(name)
				a, summary, err := s.Ask(t.Context(), name, accountant.AtDelta(1e-5))
				if err != nil || summary.Head.Position < last || !(a.Epsilon > 1.8) {
					t.Errorf("%s: %+v at %d after %d, %v", name, a, summary.Head.Position, last, err)
					return
				}
				last = summary.Head.Position
			}
		})
	}
	all.Wait()
}

// A question whose time ends before its first turn gives the session back: the next one is answered in it.
func TestSessionsWithoutATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := turns.NewInTime(turns.NewRotation(1, time.Hour, unmeasured{}),
			func(_ context.Context, p any) error { return fmt.Errorf("panic: %v", p) })
		s := New(newBooks("a"), in)
		end := make(chan struct{})
		if err := in.Admit(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = turns.Beside(t.Context(), in, turns.NothingYet,
				func(*turns.Turn) (int, error) { <-end; return 0, nil })
		}()
		synctest.Wait() // until that has the only turn
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, _, err := s.Ask(ctx, "a", accountant.AtDelta(1e-5))
		if !errors.Is(err, accountant.ErrStopped) {
			t.Errorf("without a turn: %v", err)
		}
		close(end)
		synctest.Wait()
		se, answer := s.session("a"), s.Answer
		if len(se.turn) > 0 || in.Admitted() > 0 {
			t.Errorf("%d hold the session, %d are admitted; want none", len(se.turn), in.Admitted())
		}
		s.Answer = func(a *accountant.Session, c mechanism.Composition,
			q accountant.Question) (accountant.Answer, error) {
			if a != &se.accountant {
				t.Error("the next question is answered without the session")
			}
			return answer(a, c, q)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := s.Ask(ctx, "a", accountant.AtDelta(1e-5)); err != nil {
			t.Errorf("the next question: %v", err)
		}
	})
}

// Now answers as Ask does and uses the same session and answers, unless somebody else has the session; then it
// answers all the same. The session is free afterwards, also after a failure.
func TestSessionsNow(t *testing.T) {
	t.Parallel()
	b := newBooks("a")
	s := newTestSessions(b)
	n, question := counted(s), accountant.AtDelta(1e-5)
	for i, c := range []struct {
		step, held bool
		computed   int
	}{{computed: 1}, {computed: 1}, {step: true, computed: 2}, {held: true, computed: 2},
		{step: true, held: true, computed: 3}, {computed: 4}} {
		if c.step {
			b.step("a")
		}
		se := s.session("a")
		if c.held {
			se.turn <- struct{}{}
		}
		composition, summary, err := b.Composition(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Now("a", composition, summary.Head, question)
		if err != nil || *n != c.computed {
			t.Errorf("question %d: %d computed, %v; want %d", i, *n, err, c.computed)
		}
		if c.held {
			<-se.turn
		}
		cold, err := accountant.Ask(composition, question)
		if err != nil || got.Epsilon < *cold.EpsilonLower || cold.Epsilon < *got.EpsilonLower ||
			got.Epsilon-*got.EpsilonLower > 1e-5 {
			t.Errorf("question %d: %+v; cold %+v, %v", i, got, cold, err)
		}
		if len(se.turn) > 0 || s.bytes != se.bytes || se.bytes != se.accountant.Bytes() {
			t.Errorf("question %d: %d hold the session, %d bytes; want %d", i, len(se.turn), s.bytes, se.bytes)
		}
	}
	s.Answer = func(*accountant.Session, mechanism.Composition, accountant.Question) (accountant.Answer, error) {
		panic("broken")
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = s.Now("a", mechanism.Composition{}, ledger.Head{Position: 1}, question)
		t.Error("did not panic")
	}()
	if se := s.session("a"); len(se.turn) > 0 || s.bytes != 0 {
		t.Errorf("after a panic: %d hold the session, %d bytes", len(se.turn), s.bytes)
	}
}
