// SPDX-License-Identifier: Apache-2.0

// Package pldtest makes the compositions that the tests of pld and of the packages below it
// ask about.
package pldtest

import (
	"github.com/dpaccountant/accountant/internal/loss"
	"github.com/dpaccountant/accountant/internal/loss/kinds"
	"github.com/dpaccountant/accountant/internal/loss/losstest"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// T is what is needed of a *testing.T, a *testing.B or a *rapid.T.
type T interface{ Fatal(...any) }

// Loss is the loss of one release of m.
func Loss(t T, m mechanism.Mechanism, adj mechanism.Adjacency) loss.Loss {
	l, err := kinds.Of(m, adj)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Compose is the composition of the events under adj.
func Compose(t T, adj mechanism.Adjacency, events ...mechanism.Event) loss.Composition {
	c, err := mechanism.Compose(adj, events)
	if err != nil {
		t.Fatal(err)
	}
	return composed(t, c)
}

// Losses is the composition of the events under ADD_OR_REMOVE_ONE.
func Losses(t T, events ...mechanism.Event) loss.Composition {
	return Compose(t, mechanism.AddOrRemoveOne, events...)
}

// Workload is the composition of a workload of the test data.
func Workload(t T, w losstest.Workload) loss.Composition {
	c, err := w.Composition()
	if err != nil {
		t.Fatal(w.Name, err)
	}
	return composed(t, c)
}

func composed(t T, c mechanism.Composition) loss.Composition {
	l, err := kinds.Compose(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// SampledSteps are n steps of the Gaussian mechanism with noise multiplier sigma on Poisson
// samples of rate q.
func SampledSteps(q, sigma float64, n uint32) mechanism.Event {
	return mechanism.Event{Count: n, Mechanism: mechanism.PoissonSampled{
		SamplingProbability: q, Mechanism: mechanism.Gaussian{NoiseMultiplier: sigma}}}
}
