// SPDX-License-Identifier: Apache-2.0

package interchange

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Flower's RdpAccountant (flwr 1.42) keeps Gaussian releases of one clientele, each with a number of clients that
// is sampled. Its state_dict() says how clients are sampled and for which neighbours that is; it allows these three.
var flowerModels = map[string]struct {
	adjacency string
	workload  pb.Workload_Adjacency
	note      string // "" if there is nothing to say
	release   func(sampled, clients uint64, gaussian *pb.Mechanism) *pb.Mechanism
}{
	"poisson": {"add-or-remove-one", pb.Workload_ADD_OR_REMOVE_ONE,
		"Flower's state says that each client was in a round independently of the others; with a fixed number of " +
			"clients in each round this workload claims too little",
		func(sampled, clients uint64, gaussian *pb.Mechanism) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{PoissonSampled: &pb.PoissonSampled{
				BatchSize: &sampled, DatasetSize: &clients, Mechanism: gaussian}}}
		}},
	"without-replacement": {"replace-one", pb.Workload_REPLACE_ONE,
		"a client that is replaced moves the sum by up to twice the clipping norm, to which noise_multiplier is " +
			"relative; Flower's own ε counts the norm once",
		func(sampled, clients uint64, gaussian *pb.Mechanism) *pb.Mechanism {
			return &pb.Mechanism{Kind: &pb.Mechanism_FixedSizeSampled{FixedSizeSampled: &pb.FixedSizeSampled{
				BatchSize: &sampled, DatasetSize: &clients, Mechanism: gaussian}}}
		}},
	"no-amplification": {"add-or-remove-one", pb.Workload_ADD_OR_REMOVE_ONE, "",
		func(_, _ uint64, gaussian *pb.Mechanism) *pb.Mechanism { return gaussian }},
}

// readFlower makes a workload of the state of Flower's RdpAccountant. A neighbour is a client.
func readFlower(value any, adj pb.Workload_Adjacency) (*pb.Workload, []string, error) {
	state, err := toObject("file", value, "schema_version", "backend", "config", "orders", "compositions")
	if err != nil {
		return nil, nil, err
	}
	if v, err := toCount("schema_version", state["schema_version"]); err != nil || v != 1 {
		return nil, nil, bad("schema_version", text(state["schema_version"]), "1")
	}
	if state["backend"] != "rdp" {
		return nil, nil, bad("backend", text(state["backend"]), `"rdp", the only one of flwr 1.42`)
	}
	config, err := toObject("config", state["config"], "target_delta", "population_size", "neighboring_relation",
		"sampling_method", "max_epsilon")
	if err != nil {
		return nil, nil, err
	}
	method, _ := config["sampling_method"].(string)
	model, ok := flowerModels[method]
	if !ok {
		return nil, nil, bad("config.sampling_method", text(config["sampling_method"]),
			"poisson, without-replacement or no-amplification")
	}
	if config["neighboring_relation"] != model.adjacency {
		return nil, nil, bad("config.neighboring_relation", text(config["neighboring_relation"]),
			model.adjacency+", the only one that Flower allows with "+method)
	}
	if adj != pb.Workload_ADJACENCY_UNSPECIFIED && adj != model.workload {
		return nil, nil, bad("adjacency", adj.String(), model.workload.String()+", which the file is for")
	}
	clients, err := toCount("config.population_size", config["population_size"])
	if err != nil {
		return nil, nil, err
	}
	list, ok := state["compositions"].([]any)
	if !ok {
		return nil, nil, bad("compositions", text(state["compositions"]), "a list of events with counts")
	}
	var out events
	for i, row := range list {
		path := fmt.Sprintf("compositions[%d]", i)
		sampled, gaussian, count, err := flowerRelease(path, row, clients)
		if err != nil {
			return nil, nil, err
		}
		out.add(model.release(sampled, clients, gaussian), count)
		if len(out) > wire.MaxWorkloadEvents {
			return nil, nil, bad(path, "one event too many",
				fmt.Sprintf("at most %d different ones, of up to 2^32 − 1 each", wire.MaxWorkloadEvents))
		}
	}
	notes := []string{"the neighbours are datasets that differ by a client with all of its records"}
	if model.note != "" {
		notes = append(notes, model.note)
	}
	return &pb.Workload{Adjacency: model.workload, Events: out}, notes, nil
}

// flowerRelease reads one entry of compositions.
func flowerRelease(path string, row any, clients uint64) (sampled uint64, gaussian *pb.Mechanism, count uint64,
	err error) {
	composition, err := toObject(path, row, "event", "count")
	if err != nil {
		return 0, nil, 0, err
	}
	in := path + ".event"
	event, err := toObject(in, composition["event"], "noise_multiplier", "sample_size", "population_size")
	if err != nil {
		return 0, nil, 0, err
	}
	sigma, err := toNumber(in+".noise_multiplier", event["noise_multiplier"])
	if err != nil {
		return 0, nil, 0, err
	}
	if !(sigma > 0) {
		return 0, nil, 0, bad(in+".noise_multiplier", text(event["noise_multiplier"]),
			"a number > 0: without noise nothing is private")
	}
	if n, err := toCount(in+".population_size", event["population_size"]); err != nil || n != clients {
		return 0, nil, 0, bad(in+".population_size", text(event["population_size"]),
			fmt.Sprintf("%d, as in config", clients))
	}
	if sampled, err = toCount(in+".sample_size", event["sample_size"]); err != nil {
		return 0, nil, 0, err
	}
	if sampled < 1 || sampled > clients {
		return 0, nil, 0, bad(in+".sample_size", text(event["sample_size"]),
			fmt.Sprintf("a whole number from 1 to %d, the population's size", clients))
	}
	if count, err = toCount(path+".count", composition["count"]); err == nil && count > maxTotal {
		err = bad(path+".count", text(composition["count"]), "at most 2^45")
	}
	return sampled, &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &sigma}}},
		count, err
}

// toObject reads a JSON object that has exactly these fields.
func toObject(path string, value any, fields ...string) (map[string]any, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, bad(path, text(value), "an object")
	}
	known := map[string]bool{}
	for _, name := range fields {
		known[name] = true
		if _, ok := object[name]; !ok {
			return nil, bad(path+"."+name, "missing", "required")
		}
	}
	for _, name := range sortedKeys(object) {
		if !known[name] {
			return nil, bad(path+"."+name, text(object[name]), "no such field in the state of flwr 1.42")
		}
	}
	return object, nil
}
