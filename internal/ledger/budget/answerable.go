// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"sync"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Answerables finds out which mechanisms have a privacy loss, and remembers it like prices: what a
// request has waited for is there when it is sent again. It is safe for concurrent use.
type Answerables struct {
	adjacency mechanism.Adjacency

	mu    sync.Mutex
	known map[mechanism.Mechanism]error
}

// NewAnswerables asks about mechanisms under adj.
func NewAnswerables(adj mechanism.Adjacency) *Answerables { return &Answerables{adjacency: adj} }

// Find returns nil if m has a privacy loss, and otherwise why not; in, which may be nil, interrupts it.
func (a *Answerables) Find(m mechanism.Mechanism, in *num.Interrupt) error {
	a.mu.Lock()
	err, done := a.known[m]
	a.mu.Unlock()
	if done {
		return err
	}
	err = accountant.Answerable(m, a.adjacency, in)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxKnownPrices {
		a.known = make(map[mechanism.Mechanism]error, 1)
	}
	a.known[m] = err
	return err
}
