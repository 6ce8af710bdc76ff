// SPDX-License-Identifier: Apache-2.0

package adversarytest

import "math"

// Strategy is an adversary's best one for δ at one ε.
type Strategy struct {
	tree  *Tree
	bound float64 // e^ε
	// swapped: the roles of the two datasets are exchanged.
	swapped bool
	memo    map[position]choice
}

// position is a state with what the outputs so far say of the dataset.
type position struct {
	at    *state
	share int64 // P/(P + Q), in units of 2⁻⁵⁰
}

// choice is a move with one of its faces, or to stop, and what can be reached by it.
type choice struct {
	move, face int // move < 0: stop
	value      float64
}

// Best finds by backward induction what to do after every sequence of outputs, so that
// Σ(P − e^ε·Q)₊ over the transcripts is the largest. Numbers are rounded here, which may
// cost the adversary a little: what counts is what Play finds.
func (t *Tree) Best(epsilon float64, swapped bool) *Strategy {
	return &Strategy{tree: t, bound: math.Exp(epsilon), swapped: swapped, memo: map[position]choice{}}
}

// Value is what the best strategy reaches, rounded.
func (s *Strategy) Value() float64 { return 2 * s.choose(s.tree.root, 0.5).value }

// choose returns the best choice where P and Q of the transcript are in the proportion share to
// 1 − share; its value is in units of their sum.
func (s *Strategy) choose(st *state, share float64) choice {
	key := position{st, int64(math.Round(share * 0x1p50))}
	if c, ok := s.memo[key]; ok {
		return c
	}
	best := choice{move: -1, value: math.Max(0, share-s.bound*(1-share))}
	for m := range s.tree.game.Moves {
		next := st.next[m]
		if next == nil {
			continue
		}
		faces := s.tree.game.Moves[m].Faces
		if len(faces) == 0 {
			if v := s.choose(next, share).value; v > best.value {
				best = choice{m, 0, v}
			}
			continue
		}
		for f, face := range faces {
			sum := 0.0
			for _, o := range face {
				a, b := s.probabilities(o)
				p, q := share*a, (1-share)*b
				if p+q > 0 {
					sum += (p + q) * s.choose(next, p/(p+q)).value
				}
			}
			if sum > best.value*(1+1e-12) {
				best = choice{m, f, sum}
			}
		}
	}
	s.memo[key] = best
	return best
}

// probabilities are those of an outcome on the side of the adversary and on the other.
func (s *Strategy) probabilities(o Outcome) (p, q float64) {
	p, _ = o.P.Float64()
	q, _ = o.Q.Float64()
	if s.swapped {
		return q, p
	}
	return p, q
}
