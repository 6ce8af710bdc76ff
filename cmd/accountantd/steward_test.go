// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// eighth is the unit in which stewards count: ε = 1/8, which is exact in binary.
const eighth = 0.125

func eighths(n int) []*pb.Budget {
	epsilon := float64(n) * eighth
	return []*pb.Budget{{Guard: pb.Budget_BASIC, Epsilon: &epsilon}}
}

func releases(n int) []*pb.Event {
	epsilon := eighth
	return []*pb.Event{{Count: uint32(n), Mechanism: &pb.Mechanism{
		Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: &epsilon}}}}}
}

// steward registers one dataset after the other and spends each one's budget, always asking for
// more than there is. The client sends a write again until it knows what became of it.
type steward struct {
	client *client.Client
	name   string
	hot    chan<- string // told before each write that concerns several ledgers
	keys   atomic.Uint64

	mu      sync.Mutex
	kept    map[string]map[string]*pb.Receipt // by ledger and key
	created []string                          // ledgers that were acknowledged
	refused []string                          // ledgers that were refused
	ids     []string                          // datasets that were acknowledged
	adopted map[string][]string               // by dataset, as it was acknowledged
	tally   map[string]int                    // what happened how often
}

// writes is what a steward was told is written.
type writes struct {
	kept             map[string]map[string]*pb.Receipt
	created, refused []string
	ids              []string
	adopted          map[string][]string
}

func (s *steward) acknowledged() writes {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := writes{kept: map[string]map[string]*pb.Receipt{}, created: slices.Clone(s.created),
		refused: slices.Clone(s.refused), ids: slices.Clone(s.ids), adopted: map[string][]string{}}
	for name, receipts := range s.kept {
		w.kept[name] = map[string]*pb.Receipt{}
		for key, r := range receipts {
			w.kept[name][key] = r
		}
	}
	for id, names := range s.adopted {
		w.adopted[id] = names
	}
	return w
}

func (s *steward) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally[what]++
}

// soon says that a write of several ledgers begins.
func (s *steward) soon(what string) {
	select {
	case s.hot <- what:
	default:
	}
}

// once writes under a new key, and keeps the receipt. A refusal for which the steward has asked, as
// a budget is used up, is no error.
func once[A receipted](s *steward, what, ledger string, write func(key string) (A, error)) (ok bool, err error) {
	key := fmt.Sprintf("%s-%d", s.name, s.keys.Add(1))
	answer, err := write(key)
	switch status.Code(err) {
	case codes.OK:
	case codes.ResourceExhausted, codes.FailedPrecondition:
		s.count(what + " refused")
		return false, nil
	default:
		return false, fmt.Errorf("%s %s: %w", what, ledger, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[ledger] == nil {
		s.kept[ledger] = map[string]*pb.Receipt{}
	}
	s.kept[ledger][key] = answer.GetReceipt()
	s.tally[what]++
	return true, nil
}

// create creates a ledger, or finds that it does not fit.
func (s *steward) create(ctx context.Context, spec *pb.LedgerSpec) (ok bool, err error) {
	_, err = s.client.CreateLedger(ctx, spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch status.Code(err) {
	case codes.OK:
		s.created = append(s.created, spec.GetName())
		s.tally["create"]++
		return true, nil
	case codes.ResourceExhausted, codes.FailedPrecondition:
		s.refused = append(s.refused, spec.GetName())
		s.tally["create refused"]++
		return false, nil
	}
	return false, fmt.Errorf("create %s: %w", spec.GetName(), err)
}

func (s *steward) spec(id string, n int, policy pb.LedgerSpec_Policy, size int) *pb.LedgerSpec {
	spec := &pb.LedgerSpec{Name: fmt.Sprintf("%s/%d", id, n), Adjacency: pb.Workload_ADD_OR_REMOVE_ONE,
		PrivacyUnit: "user", DatasetId: id, DatasetVersion: "1", Policy: policy}
	switch policy {
	case pb.LedgerSpec_FILTER:
		spec.Budgets = eighths(size)
	case pb.LedgerSpec_PLAN:
		spec.Plan = &pb.Workload{Adjacency: spec.Adjacency, Events: releases(size)}
	}
	return spec
}

func (s *steward) charge(ctx context.Context, ledger string, n int) (bool, error) {
	return once(s, "charge", ledger, func(key string) (*pb.WriteResponse, error) {
		return s.client.ReportOnce(ctx, ledger, key, releases(n), nil)
	})
}

func (s *steward) close(ctx context.Context, ledger string) error {
	_, err := once(s, "close", ledger, func(key string) (*pb.WriteResponse, error) {
		return s.client.WriteOnce(ctx, ledger, key, &pb.Close{Reason: "done"})
	})
	return err
}

// work is the life of one dataset.
func (s *steward) work(ctx context.Context, n int) error {
	id := fmt.Sprintf("%s-%d", s.name, n)
	descriptive := n%3 == 0 // which keeps it from being registered at first
	var before []string
	for i, policy := range []pb.LedgerSpec_Policy{pb.LedgerSpec_FILTER, pb.LedgerSpec_PLAN, pb.LedgerSpec_FILTER,
		pb.LedgerSpec_DESCRIPTIVE} {
		if policy == pb.LedgerSpec_DESCRIPTIVE && !descriptive {
			continue
		}
		spec := s.spec(id, i, policy, 2)
		if _, err := s.create(ctx, spec); err != nil {
			return err
		}
		before = append(before, spec.GetName())
		if _, err := s.charge(ctx, spec.GetName(), 1); err != nil {
			return err
		}
	}
	if err := s.close(ctx, before[2]); err != nil {
		return err
	}
	if descriptive {
		if err := s.register(ctx, id, 20, true, nil); err != nil {
			return err
		}
		if err := s.close(ctx, before[3]); err != nil {
			return err
		}
	}
	if err := s.register(ctx, id, 20, false, before); err != nil {
		return err
	}
	var players sync.WaitGroup
	failures := make([]error, 3)
	for player := range failures {
		players.Go(func() { failures[player] = s.spend(ctx, id, player) })
	}
	players.Wait()
	return errors.Join(failures...)
}

// register registers a dataset with a budget of n eighths.
func (s *steward) register(ctx context.Context, id string, n int, refused bool, adopts []string) error {
	s.soon("register")
	answer, err := s.client.CreateDataset(ctx, &pb.CreateDatasetRequest{IndependentOfOutputs: true, Reason: "a test",
		Spec: &pb.DatasetSpec{Id: id, Version: "1", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, PrivacyUnit: "user",
			MaxRecordsPerUnit: 1, BoundEnforcedBy: "a key", Budgets: eighths(n), Independence: "other people"}})
	if got := status.Code(err) == codes.FailedPrecondition; got != refused || !refused && err != nil {
		return fmt.Errorf("register %s: refused %v: %w", id, refused, err)
	}
	if refused {
		s.count("register refused")
		return nil
	}
	if got := answer.GetAdopted(); answer.GetCreated() && !slices.Equal(got, adopts) {
		return fmt.Errorf("register %s: adopted %v; want %v", id, got, adopts)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids, s.adopted[id] = append(s.ids, id), adopts
	s.tally["register"]++
	return nil
}

// spend is one of several who take what is left of a dataset's budget.
func (s *steward) spend(ctx context.Context, id string, player int) error {
	for round := range 4 {
		policy := []pb.LedgerSpec_Policy{pb.LedgerSpec_FILTER, pb.LedgerSpec_PLAN}[round%2]
		spec := s.spec(id, 100+10*player+round, policy, 2)
		s.soon("create")
		ok, err := s.create(ctx, spec)
		if err != nil {
			return err
		}
		for room := ok; room && err == nil; { // until it is full
			room, err = s.charge(ctx, spec.GetName(), 1)
		}
		switch {
		case err != nil:
		case ok && policy == pb.LedgerSpec_FILTER:
			err = s.raise(ctx, spec.GetName())
		case ok && player == 1:
			err = s.close(ctx, spec.GetName())
		}
		if err == nil && player == 0 {
			err = s.amend(ctx, id, round)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// raise asks for one eighth more of the dataset's budget for a ledger.
func (s *steward) raise(ctx context.Context, ledger string) error {
	s.soon("raise")
	_, err := once(s, "raise", ledger, func(key string) (*pb.WriteResponse, error) {
		return s.client.WriteOnce(ctx, ledger, key, &pb.Raise{Budgets: eighths(3), IndependentOfOutputs: true,
			Reason: "more is needed"})
	})
	return err
}

// amend gives the dataset one eighth more, or another version.
func (s *steward) amend(ctx context.Context, id string, round int) error {
	s.soon("amend")
	amend := &pb.AmendDataset{Reason: "a test", Budgets: eighths(21 + round), IndependentOfOutputs: true}
	if round%2 == 1 {
		amend = &pb.AmendDataset{Reason: "a test", AddVersion: &pb.DatasetVersion{
			Of: &pb.DatasetReference{Id: id, Version: fmt.Sprint(round + 1)}}}
	}
	_, err := once(s, "amend", "dataset:"+id, func(key string) (*pb.WriteResponse, error) {
		return s.client.WriteOnce(ctx, "dataset:"+id, key, amend)
	})
	return err
}

// startStewards has n stewards work on the daemon's own socket for as long as ctx lasts, or until
// enough is set; then wait returns when the write of each is acknowledged.
func startStewards(ctx context.Context, t *testing.T, socket string, n int, prefix string, hot chan<- string,
	enough *atomic.Bool) (all []*steward, wait func()) {
	t.Helper()
	var group sync.WaitGroup
	for i := range n {
		c, err := client.New(client.Config{Server: socket, BackoffMin: 5 * time.Millisecond,
			BackoffMax: 5 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		s := &steward{client: c, name: fmt.Sprintf("%s%d", prefix, i), hot: hot, tally: map[string]int{},
			kept: map[string]map[string]*pb.Receipt{}, adopted: map[string][]string{}}
		all = append(all, s)
		group.Go(func() {
			for n := 0; !enough.Load() && ctx.Err() == nil; n++ {
				if err := s.work(ctx, n); err != nil && ctx.Err() == nil {
					t.Errorf("steward %s, dataset %d: %v", s.name, n, err)
					return
				}
			}
		})
	}
	return all, group.Wait
}
