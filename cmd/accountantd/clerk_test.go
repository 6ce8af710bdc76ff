// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// clerk writes all that is not streamed to a ledger of its own, one write after another and
// each under a key of its own, for as long as a load lasts. The client sends a write again
// until it knows what became of it.
type clerk struct {
	client *client.Client
	ledger string
	limit  float64                           // of the ledger's budget, ρ
	kept   map[string]map[string]*pb.Receipt // by ledger and key
	done   atomic.Uint64                     // writes that were acknowledged
}

// addClerks has a clerk for each of these ledgers work beside a load's trainers, on the
// daemon's own socket.
func (l *load) addClerks(t *testing.T, socket string, ledgers ...string) (clerks []*clerk) {
	t.Helper()
	for _, ledger := range ledgers {
		limit := 1e6
		_, err := l.api.CreateLedger(patiently(t), &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{
			Name: ledger, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Policy: pb.LedgerSpec_FILTER,
			Budgets: []*pb.Budget{{Guard: pb.Budget_ZCDP, Rho: &limit}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(client.Config{Server: socket, BackoffMin: 10 * time.Millisecond,
			BackoffMax: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		k := &clerk{client: c, ledger: ledger, limit: limit, kept: map[string]map[string]*pb.Receipt{}}
		clerks = append(clerks, k)
		l.group.Go(func() {
			for step := uint64(0); l.ctx.Err() == nil && !l.enough.Load(); step++ {
				if err := k.work(l.ctx, step); err != nil && l.ctx.Err() == nil {
					t.Error(err)
					l.cancel()
				}
			}
		})
	}
	return clerks
}

// receipted is an answer to a write.
type receipted interface{ GetReceipt() *pb.Receipt }

// keep writes under a new key and keeps the receipt.
func keep[A receipted](k *clerk, ledger string, write func(key string) (A, error)) (*pb.Receipt, error) {
	key := uuid.NewString()
	answer, err := write(key)
	if err != nil {
		return nil, err
	}
	if k.kept[ledger] == nil {
		k.kept[ledger] = map[string]*pb.Receipt{}
	}
	k.kept[ledger][key] = answer.GetReceipt()
	k.done.Add(1)
	return answer.GetReceipt(), nil
}

// work does the next kind of work.
func (k *clerk) work(ctx context.Context, step uint64) error {
	kinds := []func(context.Context) error{k.report, k.useReservation, k.raise, k.refund, k.expire, k.free, k.child}
	if err := kinds[step%uint64(len(kinds))](ctx); err != nil {
		return fmt.Errorf("clerk, step %d: %w", step, err)
	}
	return nil
}

func (k *clerk) charge(ctx context.Context, ledger string) (*pb.Receipt, error) {
	return keep(k, ledger, func(key string) (*pb.WriteResponse, error) {
		return k.client.ReportOnce(ctx, ledger, key, charge().GetEvents(), nil)
	})
}

func (k *clerk) reserve(ctx context.Context) (position uint64, err error) {
	r, err := keep(k, k.ledger, func(key string) (*pb.WriteResponse, error) {
		return k.client.ReserveOnce(ctx, k.ledger, key,
			append(charge().GetEvents(), charge().GetEvents()...), time.Hour, nil)
	})
	return r.GetPosition(), err
}

func (k *clerk) report(ctx context.Context) error {
	_, err := k.charge(ctx, k.ledger)
	return err
}

func (k *clerk) useReservation(ctx context.Context) error {
	at, err := k.reserve(ctx)
	if err != nil {
		return err
	}
	_, err = keep(k, k.ledger, func(key string) (*pb.WriteResponse, error) {
		return k.client.CommitOnce(ctx, k.ledger, key, at, charge().GetEvents(), nil)
	})
	if err != nil {
		return err
	}
	_, err = keep(k, k.ledger, func(key string) (*pb.WriteResponse, error) {
		return k.client.ReleaseOnce(ctx, k.ledger, key, at, "the rest is not needed")
	})
	return err
}

func (k *clerk) raise(ctx context.Context) error {
	_, err := keep(k, k.ledger, func(key string) (*pb.WriteResponse, error) {
		more := k.limit + 1
		return k.client.WriteOnce(ctx, k.ledger, key, &pb.Raise{
			Budgets: []*pb.Budget{{Guard: pb.Budget_ZCDP, Rho: &more}}, IndependentOfOutputs: true,
			Reason: "more is allowed"})
	})
	k.limit++
	return err
}

func (k *clerk) refund(ctx context.Context) error {
	r, err := k.charge(ctx, k.ledger)
	if err != nil {
		return err
	}
	_, err = keep(k, k.ledger, func(key string) (*pb.WriteResponse, error) {
		return k.client.WriteOnce(ctx, k.ledger, key,
			&pb.Refund{Position: r.GetPosition(), NothingReleased: true, Reason: "it never ran"})
	})
	return err
}

func (k *clerk) expire(ctx context.Context) error {
	at, err := k.reserve(ctx)
	if err != nil {
		return err
	}
	_, err = keep(k, k.ledger,
		func(key string) (*pb.WriteResponse, error) {
			return k.client.WriteOnce(ctx, k.ledger, key, &pb.Expire{Reservation: at})
		})
	return err
}

func (k *clerk) free(ctx context.Context) error {
	at, err := k.reserve(ctx)
	if err != nil {
		return err
	}
	_, err = keep(k, k.ledger, func(key string) (*pb.WriteResponse, error) {
		return k.client.WriteOnce(ctx, k.ledger, key,
			&pb.Free{Reservation: at, NothingReleased: true, Reason: "its job is dead"})
	})
	return err
}

// child gives a ledger of its own a share, uses a part of it and closes it.
func (k *clerk) child(ctx context.Context) error {
	name := k.ledger + "/" + uuid.NewString()
	_, err := k.client.CreateLedger(ctx,
		&pb.LedgerSpec{Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Parent: k.ledger,
			Policy: pb.LedgerSpec_PLAN,
			Plan: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE,
				Events: append(charge().GetEvents(), charge().GetEvents()...)}})
	if err != nil {
		return err
	}
	if _, err := k.charge(ctx, name); err != nil {
		return err
	}
	_, err = keep(k, name, func(key string) (*pb.WriteResponse, error) {
		return k.client.WriteOnce(ctx, name, key, &pb.Close{Reason: "it is done"})
	})
	return err
}

// checkClerks compares the receipts of clerks with the ledgers: each is of one entry.
func checkClerks(t *testing.T, clerks []*clerk) (writes uint64) {
	t.Helper()
	for _, k := range clerks {
		writes += k.done.Load()
		for ledger, receipts := range k.kept {
			found := map[string]bool{}
			for e, err := range k.client.Entries(patiently(t), ledger, client.EntriesOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				key := strings.TrimPrefix(e.GetWriter(), "request/")
				if found[key] {
					t.Errorf("%s: %s was written twice", ledger, key)
				}
				found[key] = true
				r := receipts[key]
				if r != nil && (r.GetPosition() != e.GetPosition() || string(r.GetHeadHash()) != string(e.GetHash())) {
					t.Errorf("%s: %s: receipt %v; entry %v", ledger, key, r, e)
				}
			}
			for key := range receipts {
				if !found[key] {
					t.Errorf("%s: %s was acknowledged and is missing", ledger, key)
				}
			}
		}
	}
	return writes
}
