// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"encoding/json"
	"fmt"
	"math"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Opacus's accountants keep [(noise multiplier, sample rate, steps), …], each a
// Gaussian on Poisson samples under add or remove; state_dict() has that as "history"
// beside the accountant's "mechanism". Both the list and the state are read, and checkpoints, in
// which the state is.
func readOpacus(value any, adj pb.Workload_Adjacency) (*pb.Workload, []string, error) {
	if adj != pb.Workload_ADJACENCY_UNSPECIFIED && adj != pb.Workload_ADD_OR_REMOVE_ONE {
		return nil, nil, bad("adjacency", adj.String(), "ADD_OR_REMOVE_ONE, which Opacus's accountants are for")
	}
	path, history := "history", value
	if state, ok := value.(map[string]any); ok {
		for _, name := range sortedKeys(state) {
			if name != "history" && name != "mechanism" {
				return nil, nil, bad(name, text(state[name]), "history and mechanism")
			}
		}
		history = state["history"]
	}
	list, ok := history.([]any)
	if !ok {
		return nil, nil, bad(path, text(history), "a list of [noise multiplier, sample rate, steps]")
	}
	var out events
	for i, row := range list {
		path := fmt.Sprintf("history[%d]", i)
		step, ok := row.([]any)
		if !ok || len(step) != 3 {
			return nil, nil, bad(path, text(row), "[noise multiplier, sample rate, steps]")
		}
		sigma, err := toNumber(path+"[0]", step[0])
		if err != nil {
			return nil, nil, err
		}
		if !(sigma > 0) {
			return nil, nil, bad(path+"[0]", text(step[0]), "a number > 0: without noise nothing is private")
		}
		q, err := toNumber(path+"[1]", step[1])
		if err != nil {
			return nil, nil, err
		}
		if !(q >= 0 && q <= 1) {
			return nil, nil, bad(path+"[1]", text(step[1]), "a number in [0, 1]")
		}
		count, err := toCount(path+"[2]", step[2])
		if err != nil {
			return nil, nil, err
		}
		if count > maxTotal {
			return nil, nil, bad(path+"[2]", text(step[2]), "at most 2^45")
		}
		if q == 0 {
			continue // no batch has a record
		}
		out.add(&pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
			SamplingProbability: &q,
			Mechanism: &pb.Mechanism{
				Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &sigma}}},
		}}}, count)
		if len(out) > wire.MaxWorkloadEvents {
			return nil, nil, bad(path, "one event too many",
				fmt.Sprintf("at most %d different ones, of up to 2^32 − 1 each", wire.MaxWorkloadEvents))
		}
	}
	notes := []string{"Opacus records shuffled batches (poisson_sampling=False) as if they were Poisson samples; for " +
		"those this workload claims too little"}
	return &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Events: out}, notes, nil
}

// writeOpacus writes a state_dict for RDPAccountant.
func writeOpacus(c mechanism.Composition) ([]byte, []string, error) {
	if c.Adjacency != mechanism.AddOrRemoveOne {
		return nil, nil, bad("adjacency", c.Adjacency.String(), "ADD_OR_REMOVE_ONE, which Opacus's accountants are for")
	}
	history := [][3]any{}
	var cannot unwritable
	for _, part := range c.Parts {
		for _, p := range mechanism.Expand(part.Mechanism) {
			m, q := p.Mechanism, 1.0
			if s, ok := m.(mechanism.PoissonSampled); ok {
				m, q = s.Mechanism, s.Probability()
			}
			g, ok := m.(mechanism.Gaussian)
			total := p.Count * part.Count
			switch {
			case !ok:
				cannot.add(p.Mechanism, "Opacus knows Gaussian noise only, on Poisson samples or on everything")
			case p.Count > math.MaxInt64/part.Count:
				cannot.add(p.Mechanism, "more than 2^63 − 1 times")
			default:
				history = append(history,
					[3]any{noise{g.StandardDeviation, g.Sensitivity, g.Distance,
						g.NoiseMultiplier}.multiplier(c.Adjacency), q, total})
			}
		}
	}
	if err := cannot.err(Opacus); err != nil {
		return nil, nil, err
	}
	data, err := json.Marshal(struct {
		History   [][3]any `json:"history"`
		Mechanism string   `json:"mechanism"`
	}{history, "rdp"})
	return append(data, '\n'), nil, err
}
