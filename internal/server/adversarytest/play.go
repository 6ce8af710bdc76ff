// SPDX-License-Identifier: Apache-2.0

package adversarytest

import (
	"fmt"
	"math/big"
)

// Play plays the strategy against fresh ledgers, once for each sequence of outputs, and
// returns Σ(P − e^ε·Q)₊ over all transcripts: exactly what this adversary reaches, but for
// rounding at 256 bits. It fails if ledgers answer otherwise than when they were explored.
func (s *Strategy) Play(epsilon float64) (*big.Float, error) {
	bound, reached := Exp(epsilon), number(0)
	var play func(ledgers Ledgers, st *state, path []int, p, q *big.Float) error
	play = func(ledgers Ledgers, st *state, path []int, p, q *big.Float) error {
		a, _ := p.Float64()
		b, _ := q.Float64()
		c := s.choose(st, a/(a+b))
		if c.move < 0 {
			if gain := number(0).Sub(p, number(0).Mul(bound, q)); gain.Sign() > 0 {
				reached.Add(reached, gain)
			}
			return nil
		}
		move := s.tree.game.Moves[c.move]
		outcomes := []Outcome{{number(1), number(1)}}
		if len(move.Faces) > 0 {
			outcomes = move.Faces[c.face]
		}
		path = append(path[:len(path):len(path)], c.move)
		for i, o := range outcomes {
			if i > 0 { // the ledgers are spent: others for another output
				if ledgers = s.tree.game.played(path[:len(path)-1]); ledgers == nil {
					return fmt.Errorf("fresh ledgers refuse the moves %v that others have accepted", path[:len(path)-1])
				}
			}
			if !ledgers.Accept(c.move) {
				return fmt.Errorf("the ledgers refuse %s after the moves %v, which they accepted in another order",
					move.Name, path[:len(path)-1])
			}
			if s.swapped {
				o.P, o.Q = o.Q, o.P
			}
			if o.P.Sign()+o.Q.Sign() == 0 {
				continue
			}
			if err := play(ledgers, st.next[c.move], path, number(0).Mul(p, o.P), number(0).Mul(q, o.Q)); err != nil {
				return err
			}
		}
		return nil
	}
	err := play(s.tree.game.Fresh(), s.tree.root, nil, number(1), number(1))
	return reached, err
}
