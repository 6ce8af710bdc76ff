// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// order is the Rényi order of the FILTER ledgers.
const order = 8

// report is what is reported: 120 to 200 bytes with its number and its frame.
type report struct {
	events []*pb.Event
	labels map[string]string
}

// mechanisms are the four that alternate: three of training and one count.
func mechanisms() []*pb.Mechanism {
	return []*pb.Mechanism{
		client.PoissonSampled(0.01, client.Gaussian(1)),
		client.PoissonSampled(0.02, client.Gaussian(1.1)),
		client.Gaussian(20),
		{Kind: &pb.Mechanism_Laplace{Laplace: &pb.Laplace{Scale: proto.Float64(50), Sensitivity: proto.Float64(1)}}},
	}
}

func reports() []report {
	labels := map[string]string{"run": "cifar10-resnet18-baseline-seed-42",
		"host": "gpu-node-0117.training.internal.example.org"}
	var out []report
	for _, m := range mechanisms() {
		out = append(out, report{[]*pb.Event{client.Event(m, 1)}, labels})
	}
	return out
}

// spec is a ledger of n reports: each mechanism at most that often.
func spec(name string, policy pb.LedgerSpec_Policy, n int) *pb.LedgerSpec {
	s := &pb.LedgerSpec{Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "example", Policy: policy}
	if policy == pb.LedgerSpec_PLAN {
		s.Plan = &pb.Workload{Adjacency: s.Adjacency}
		for _, m := range mechanisms() {
			s.Plan.Events = append(s.Plan.Events, client.Event(m, uint32(n)))
		}
		return s
	}
	// Each report costs less than 0.03 at this order: the budget holds them all.
	s.Budgets = []*pb.Budget{{Guard: pb.Budget_RDP, Order: proto.Float64(order),
		Epsilon: proto.Float64(10 + float64(n)), Delta: proto.Float64(1e-5)}}
	return s
}

// create makes a run's ledgers, of these policies in turn, a hundred at a time.
func create(ctx context.Context, c *client.Client, s settings, run string,
	policies ...pb.LedgerSpec_Policy) ([]string, error) {
	names := make([]string, s.ledgers)
	errs := make([]error, s.ledgers)
	var all sync.WaitGroup
	room := make(chan struct{}, 100)
	for i := range names {
		names[i] = fmt.Sprintf("load/%s/%d", run, i)
		room <- struct{}{}
		all.Go(func() {
			// One that exists was made by an attempt whose answer was lost: the run is new.
			_, errs[i] = c.CreateLedger(ctx, spec(names[i], policies[i%len(policies)], s.reports))
			<-room
		})
	}
	all.Wait()
	for _, err := range errs { // one is enough: the others are alike
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}
