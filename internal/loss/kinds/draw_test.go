// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"pgregory.net/rapid"
)

func drawAdjacency(t *rapid.T) mechanism.Adjacency {
	return rapid.SampledFrom([]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne,
		mechanism.ZeroOut}).Draw(t, "adjacency")
}

func drawLoss(t *rapid.T) loss.Loss {
	adj := drawAdjacency(t)
	m := losstest.Draw(t, adj)
	if err := m.Check(adj); err != nil {
		t.Fatal(err)
	}
	l, err := Of(m, adj)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func drawDirection(t *rapid.T) loss.Direction {
	return rapid.SampledFrom([]loss.Direction{loss.Remove, loss.Add}).Draw(t, "direction")
}
