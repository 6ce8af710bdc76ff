// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// fakeSets is a daemon that keeps the rules of the lane for sets, and fails on command.
type fakeSets struct {
	*fake
	written []proto.Message
	refusal *pb.SetRefusal
}

// write decides one request.
func (f *fakeSets) write(ctx context.Context, lane *pb.Lane, r proto.Message) (*pb.WriteResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	happens := f.next(ctx, "Set")
	lane.LastReceipt = nil
	if happens == failBefore {
		return nil, errDown
	}
	sequence := lane.GetSequence()
	receipt := &pb.Receipt{StoreId: "s", Ledger: "system:sets/a", Writer: lane.GetWriter(),
		Sequence: sequence, Position: sequence + 10, HeadHash: slices.Repeat([]byte{byte(sequence)}, 32)}
	switch n := uint64(len(f.written)); {
	case sequence > n+1 || sequence == 0:
		return nil, status.Errorf(codes.FailedPrecondition, "sequence: %d; allowed: %d", sequence, n+1)
	case sequence <= n && !proto.Equal(f.written[sequence-1], r):
		return nil, status.Error(codes.AlreadyExists, "used for something else")
	case sequence <= n:
		return &pb.WriteResponse{Receipt: receipt, Replayed: true}, nil
	case f.refusal != nil:
		st, err := status.New(codes.ResourceExhausted, "budget exceeded in 1 of 2 ledgers").WithDetails(f.refusal)
		if err != nil {
			panic(err)
		}
		return nil, st.Err()
	}
	f.written = append(f.written, proto.Clone(r))
	if happens == failAfter {
		return nil, errDown
	}
	return &pb.WriteResponse{Receipt: receipt}, nil
}

func (f *fakeSets) Report(ctx context.Context, r *pb.ReportRequest) (*pb.WriteResponse, error) {
	if r.Lane.CheckOnly {
		return &pb.WriteResponse{CheckOnly: true, Ledgers: r.Lane.Ledgers.Ledgers, Refusal: f.refusal}, nil
	}
	return f.write(ctx, r.Lane, r)
}

func (f *fakeSets) Reserve(ctx context.Context, r *pb.ReserveRequest) (*pb.WriteResponse, error) {
	return f.write(ctx, r.Lane, r)
}

func (f *fakeSets) Commit(ctx context.Context, r *pb.CommitRequest) (*pb.WriteResponse, error) {
	return f.write(ctx, r.Lane, r)
}

func (f *fakeSets) Release(ctx context.Context, r *pb.ReleaseRequest) (*pb.WriteResponse, error) {
	return f.write(ctx, r.Lane, r)
}

func someEvents() []*pb.Event {
	noise := 2.0
	return []*pb.Event{Event(&pb.Mechanism{Kind: &pb.Mechanism_Gaussian{
		Gaussian: &pb.Gaussian{NoiseMultiplier: &noise}}}, 1)}
}

// Whatever is lost on the way, each of the four writes to a set is made once, in the order of the calls, and
// carries the newest receipt of the lane where the connection is new.
func TestSetsUnderFaults(t *testing.T) {
	t.Parallel()
	for first := range 3 {
		for second := range 3 {
			t.Run(fmt.Sprintf("%d %d", first, second), func(t *testing.T) {
				t.Parallel()
				n := 0
				f := &fakeSets{fake: newFake()}
				f.fault = func(string) fault {
					n++
					if n%3 == 0 {
						return none
					}
					return []fault{none, failBefore, failAfter}[[]int{first, second}[n%3-1]]
				}
				c := f.serve(t, f, Config{})
				ctx := t.Context()
				days := c.Range("days/", "01", "07")
				charged, err := days.Report(ctx, pb.SetPart_OVER_ALL, someEvents(), map[string]string{"run": "7"})
				if err != nil || charged.GetReceipt().GetSequence() != 1 {
					t.Fatalf("%v, %v", charged, err)
				}
				reserved, err := c.Set("a", "b").Reserve(ctx, pb.SetPart_OVER_ALL, someEvents(), time.Hour, nil)
				if err != nil {
					t.Fatal(err)
				}
				journal, position := reserved.GetReceipt().GetLedger(), reserved.GetReceipt().GetPosition()
				if _, err := c.Commit(ctx, journal, position, someEvents(), nil); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Release(ctx, journal, position, "done"); err != nil {
					t.Fatal(err)
				}
				if len(f.written) != 4 {
					t.Fatalf("written: %v", f.written)
				}
				report := f.written[0].(*pb.ReportRequest)
				reserve := f.written[1].(*pb.ReserveRequest)
				commit := f.written[2].(*pb.CommitRequest)
				release := f.written[3].(*pb.ReleaseRequest)
				if report.Lane.Ledgers.Range.GetLast() != "07" || report.Charge.Labels["run"] != "7" ||
					commit.Commit.Reservation != 12 || release.Release.Reservation != 12 ||
					release.Lane.Ledger != "system:sets/a" || release.Release.Reason != "done" ||
					commit.Lane.Ledger != "system:sets/a" || reserve.Lane.Ledger != "" ||
					reserve.Reserve.LifetimeSeconds != 3600 {
					t.Errorf("written: %v", f.written)
				}
			})
		}
	}
}

// A refusal names the ledgers and what would fit, and uses up no number.
func TestSetRefused(t *testing.T) {
	t.Parallel()
	f := &fakeSets{fake: newFake(), refusal: &pb.SetRefusal{Ledgers: 2, Members: []*pb.SetRefusal_Member{{Ledger: "b",
		Code: int32(codes.ResourceExhausted), BudgetExceeded: &pb.BudgetExceeded{}}}}}
	c := f.serve(t, f, Config{})
	set := c.Set("a", "b")
	checked, err := set.CheckOnce(t.Context(), "k", pb.SetPart_OVER_ALL, someEvents(), nil)
	if err != nil || len(checked.GetLedgers()) != 2 || checked.GetRefusal().GetMembers()[0].GetLedger() != "b" {
		t.Errorf("%v, %v", checked, err)
	}
	_, err = set.Report(t.Context(), pb.SetPart_OVER_ALL, someEvents(), nil)
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrBudget) || e.Unknown || !proto.Equal(e.Refusal, f.refusal) {
		t.Fatalf("%v: %+v", err, e)
	}
	if !proto.Equal(detailOf[*pb.SetRefusal](e.GRPCStatus()), f.refusal) {
		t.Errorf("%v", e.GRPCStatus().Details())
	}
	f.refusal = nil
	a, err := set.Report(t.Context(), pb.SetPart_OVER_ALL, someEvents(), nil)
	if err != nil || a.GetReceipt().GetSequence() != 1 {
		t.Errorf("%v, %v; want the same number again", a, err)
	}
}

// A write whose outcome is unknown is kept with its set, and settled with the same number before the next one.
func TestSetSettles(t *testing.T) {
	t.Parallel()
	down := true
	f := &fakeSets{fake: newFake()}
	f.fault = func(string) fault {
		if down {
			return failAfter
		}
		return none
	}
	c := f.serve(t, f, Config{MaxAttempts: 1})
	_, err := c.Set("a", "b").Report(t.Context(), pb.SetPart_OVER_ALL, someEvents(), nil)
	var e *Error
	if !errors.As(err, &e) || !e.Unknown {
		t.Fatal(err)
	}
	pending := c.Pending(SetLane)
	if len(pending) != 1 || !slices.Equal(pending[0].Ledgers.GetLedgers(), []string{"a", "b"}) ||
		len(pending[0].Action.(*pb.Charge).GetEvents()) != 1 {
		t.Fatalf("pending: %+v", pending)
	}
	down = false
	if _, err := c.Release(t.Context(), "system:sets/a", 11, ""); err != nil {
		t.Fatal(err)
	}
	if len(f.written) != 2 || len(c.Pending(SetLane)) != 0 {
		t.Errorf("written %v, pending %v", f.written, c.Pending(SetLane))
	}
}

// A release of unknown outcome stays in the lane of all writes to several ledgers, with the journal that it is about.
func TestPendingReleaseOfSeveral(t *testing.T) {
	t.Parallel()
	f := &fakeSets{fake: newFake()}
	f.fault = func(string) fault { return failAfter }
	c := f.serve(t, f, Config{MaxAttempts: 1})
	if _, err := c.Release(t.Context(), "system:sets/a", 11, "done"); err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{SetLane, "system:sets/b"} {
		pending := c.Pending(name)
		if len(pending) != 1 || pending[0].Reserved != "system:sets/a" ||
			pending[0].Action.(*pb.Release).Reservation != 11 {
			t.Errorf("pending of %q: %+v", name, pending)
		}
	}
	if _, again, err := c.Pending(SetLane)[0].unary(SetLane, "w", 1); err != nil ||
		again.(*pb.ReleaseRequest).Lane.Ledger != "system:sets/a" {
		t.Errorf("%v, %v", again, err)
	}
}
