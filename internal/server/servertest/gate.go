// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"sync"
	"sync/atomic"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// Gated is a store in memory that can make whoever reads some of the entries wait.
type Gated struct {
	ledger.Store
	Waiting atomic.Int64 // how many do

	first, last atomic.Uint64
	gate        chan struct{}
	open        func()
}

// NewGated returns a store in which nobody waits.
func NewGated() *Gated {
	g := &Gated{Store: memory.New(memory.Config{}), gate: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.gate) })
	return g
}

// Shut makes whoever begins to read at one of these positions wait, until Open is called.
func (g *Gated) Shut(first, last uint64) {
	g.last.Store(last)
	g.first.Store(first)
}

// Open lets everybody read, for ever.
func (g *Gated) Open() { g.open() }

// Records implements ledger.Store.
func (g *Gated) Records(name string, from uint64, limit int) ([]ledger.Record, error) {
	if first := g.first.Load(); first > 0 && first <= from && from <= g.last.Load() {
		g.Waiting.Add(1)
		<-g.gate
		g.Waiting.Add(-1)
	}
	return g.Store.Records(name, from, limit)
}
