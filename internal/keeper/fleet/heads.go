// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Patience bounds how long a question waits to learn where its ledgers stand. After that it fails: an old
// answer could leave out what was charged.
const Patience = 2 * time.Second

// Heads reads the heads of ledgers for all who wait: questions that wait at the same time share one reading of the
// store. It is safe for concurrent use.
type Heads struct {
	read func(names []string) ([]ledger.Head, error)

	mu      sync.Mutex
	running *reading // under way; nil: none
	next    *reading // begins when running has ended; nil: nobody waits for it
}

// reading is one reading of the store.
type reading struct {
	names []string
	index map[string]int // of names
	done  chan struct{}  // closed at the end
	heads []ledger.Head  // then
	errs  []error        // of each name
}

// newHeads returns a Heads that asks read, which is as Shared.Heads.
func newHeads(read func(names []string) ([]ledger.Head, error)) *Heads { return &Heads{read: read} }

// Of returns the heads of ledgers, in order. They are now's: read after the call. In a call with a context
// made by Within they may have been read before, for the same ledgers; then now is false. After Patience the
// error is ledger.ErrUnavailable.
func (h *Heads) Of(ctx context.Context, names ...string) (heads []ledger.Head, now bool, err error) {
	seen, _ := ctx.Value(key{}).(*memory)
	if heads, ok := seen.of(names); ok {
		return heads, false, nil
	}
	r := h.join(names)
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-patience.C:
		return nil, false, fmt.Errorf("%w: the database has not told within %v how far this ledger has come, and an "+
			"older answer could leave out what was charged; allowed: the question again", ledger.ErrUnavailable,
			Patience)
	}
	heads = make([]ledger.Head, len(names))
	for i, name := range names {
		at := r.index[name]
		if err := r.errs[at]; err != nil {
			return nil, false, err
		}
		heads[i] = r.heads[at]
	}
	seen.keep(names, heads)
	return heads, true, nil
}

// join adds names to the reading that begins next.
func (h *Heads) join(names []string) *reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next == nil {
		h.next = &reading{index: map[string]int{}, done: make(chan struct{})}
	}
	r := h.next
	for _, name := range names {
		if _, there := r.index[name]; !there {
			r.index[name] = len(r.names)
			r.names = append(r.names, name)
		}
	}
	if h.running == nil {
		h.begin()
		go h.run()
	}
	return r
}

// begin makes the next reading the one under way. Its caller holds mu.
func (h *Heads) begin() { h.running, h.next = h.next, nil }

// run reads until nobody waits.
func (h *Heads) run() {
	for r := h.running; r != nil; {
		h.readAll(r)
		h.mu.Lock()
		h.begin()
		close(r.done)
		r = h.running
		h.mu.Unlock()
	}
}

// readAll reads the heads of all names at once. If one of the ledgers is damaged, it reads each by itself, since
// the others are not affected.
func (h *Heads) readAll(r *reading) {
	r.errs = make([]error, len(r.names))
	heads, err := h.readSome(r.names)
	if r.heads = heads; err == nil {
		return
	}
	r.heads = make([]ledger.Head, len(r.names))
	for i := range r.names {
		if r.errs[i] = err; !errors.Is(err, ledger.ErrDamaged) {
			continue
		}
		if one, err := h.readSome(r.names[i : i+1]); err != nil {
			r.errs[i] = err
		} else {
			r.heads[i], r.errs[i] = one[0], nil
		}
	}
}

func (h *Heads) readSome(names []string) (heads []ledger.Head, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading how far ledgers have come failed: %v", p)
		}
	}()
	heads, err = h.read(names)
	if err == nil && len(heads) != len(names) {
		err = fmt.Errorf("the store answered %d names with %d heads", len(names), len(heads))
	}
	return heads, err
}

// wait waits until no reading is under way. Nobody may call Of meanwhile.
func (h *Heads) wait(ctx context.Context) error {
	h.mu.Lock()
	r := h.running
	h.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
		return h.wait(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// memory is what one call has learnt.
type memory struct {
	mu    sync.Mutex
	heads map[string]ledger.Head
}

type key struct{}

// Within returns the context of one call, in which each ledger's head is read once: what was acknowledged
// before the call began is in all of its answers.
func Within(ctx context.Context) context.Context {
	return context.WithValue(ctx, key{}, &memory{heads: map[string]ledger.Head{}})
}

// of returns what the call has learnt about ledgers, if it has about all of them.
func (m *memory) of(names []string) ([]ledger.Head, bool) {
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	heads := make([]ledger.Head, len(names))
	for i, name := range names {
		head, ok := m.heads[name]
		if !ok {
			return nil, false
		}
		heads[i] = head
	}
	return heads, true
}

func (m *memory) keep(names []string, heads []ledger.Head) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, name := range names {
		m.heads[name] = heads[i]
	}
}
