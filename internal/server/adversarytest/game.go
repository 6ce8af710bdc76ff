// SPDX-License-Identifier: Apache-2.0

// Package adversarytest plays the privacy game of docs/math/adaptivity.md §5.1 against ledgers that
// say yes or no. It finds an adversary's best strategy by going through the whole tree of
// the game, plays it out against fresh ledgers, outcome by outcome, and counts what it
// reaches with exact numbers. It shares no code with the accountant.
package adversarytest

import "math/big"

// Outcome is one output of a release with its probabilities on the two datasets.
type Outcome struct{ P, Q *big.Float }

// Move is one thing that the adversary can do.
type Move struct {
	Name string
	// Faces are what the adversary can choose to run once the move is accepted. Most
	// mechanisms have one; of several disjoint parts each is one. A move without faces
	// releases nothing: it creates or closes a ledger.
	Faces [][]Outcome
}

// Ledgers are asked for one move after the other. What they refuse changes nothing.
type Ledgers interface {
	// Accept reports whether the ledgers have accepted the move with this index.
	Accept(move int) bool
}

// Game is what an adversary may do, and to whom.
type Game struct {
	Moves []Move
	// Fresh makes ledgers to which nothing was charged.
	Fresh func() Ledgers
}

// state is what was accepted so far, as counts by move. What ledgers accept next
// follows from it: Play fails where it does not.
type state struct {
	path []int // that leads to it
	next map[int]*state
}

// Tree has every state that the ledgers let the adversary reach.
type Tree struct {
	game   Game
	root   *state
	States int
}

// Explore asks fresh ledgers at every state for every move.
func (g Game) Explore() *Tree {
	t := &Tree{game: g}
	known := map[string]*state{}
	var explore func(path []int) *state
	explore = func(path []int) *state {
		key := g.key(path)
		if s := known[key]; s != nil {
			return s
		}
		s := &state{path: path, next: map[int]*state{}}
		known[key] = s
		ledgers := g.played(path)
		for m := range g.Moves {
			if ledgers.Accept(m) {
				s.next[m] = explore(append(path[:len(path):len(path)], m))
				ledgers = g.played(path)
			}
		}
		return s
	}
	t.root = explore(nil)
	t.States = len(known)
	return t
}

// key counts the moves of a path.
func (g Game) key(path []int) string {
	counts := make([]byte, len(g.Moves))
	for _, m := range path {
		counts[m]++
	}
	return string(counts)
}

// played returns fresh ledgers that have accepted the moves of a path; nil where they do not.
func (g Game) played(path []int) Ledgers {
	ledgers := g.Fresh()
	for _, m := range path {
		if !ledgers.Accept(m) {
			return nil
		}
	}
	return ledgers
}
