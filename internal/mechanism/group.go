// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"fmt"
	"math"
)

// MaxGroup bounds the records of a group, MaxSampledGroup those where every number of
// members in a batch is a part of a mixture.
const (
	MaxGroup        = 1 << 20
	MaxSampledGroup = MaxComponents - 1
)

// Group is Mechanism with Size records in the place of one: all of them added or
// removed, replaced or zeroed out.
type Group struct {
	// 1 … MaxGroup
	Size      uint64    `field:"1" role:"size" range:"1..2^20" need:"required"`
	Mechanism Mechanism `field:"2" role:"inside"`
}

// Kind is "group".
func (Group) Kind() string { return "group" }

func (Group) number() int { return 23 }

// Check implements Mechanism: defined where the mechanism inside is. Refused is what the
// guarantee of one record says nothing of: tables of losses and of divergences, the best of
// several runs, other samples, and lists, of which each event is reported as a group.
func (g Group) Check(adj Adjacency) error {
	if g.Size == 0 || g.Size > MaxGroup {
		return &ParameterError{"group.size", countGiven(g.Size), "a whole number from 1 to 2^20"}
	}
	if err := checkPlace("group.mechanism", g.Mechanism, inGroup, "the mechanism as it is for one record"); err != nil {
		return err
	}
	if sized, ok := g.Mechanism.(groupSized); ok {
		if err := sized.checkGroupSize(g.Size); err != nil {
			err.(*ParameterError).Field = "group.size"
			return err
		}
	}
	return firstError(checkWithin("group.mechanism", g.Mechanism, adj), g.checkDistance(adj))
}

// checkDistance refuses groups whose outputs are further apart than the noise can tell:
// beyond the whole numbers that float64 has, or not overlapping.
func (g Group) checkDistance(adj Adjacency) error {
	noise, ok := g.Mechanism.(groupReaching)
	if !ok {
		return nil
	}
	one, end := noise.groupReach(adj)
	if float64(g.Size)*one < end {
		return nil
	}
	return &ParameterError{"group.size", fmt.Sprint(g.Size),
		fmt.Sprintf("fewer records: size times the distance %s of one must be below %s", number(one), number(end))}
}

// GroupDelta is δ·(e^{kε} − 1)/(e^ε − 1), the δ of k records where one has (ε, δ),
// within a relative 1e-12 of rounding; maybe +Inf.
func GroupDelta(epsilon, delta float64, k uint64) float64 {
	if k == 1 {
		return delta
	}
	n := float64(k)
	if epsilon < 600 && n*epsilon < 600 {
		return delta * (math.Expm1(n*epsilon) / math.Expm1(epsilon))
	}
	return math.Exp(math.Log(delta) + (n-1)*epsilon - math.Log1p(-math.Exp(-epsilon)))
}

func countGiven(n uint64) string {
	if n == 0 {
		return "missing or 0"
	}
	return fmt.Sprint(n)
}

func (g Group) String() string { return fmt.Sprintf("group(%d, %v)", g.Size, g.Mechanism) }

func (Group) places() place { return nowhere }

func (g Group) refusal(where place) *ParameterError {
	if where != inGroup {
		return nil
	}
	return &ParameterError{"", g.Kind(), "one group with the product of both sizes"}
}
