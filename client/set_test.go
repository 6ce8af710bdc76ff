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
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// fakeSets is a daemon that keeps the rules of the lane for sets, and fails on command.
type fakeSets struct {
	*fake
	written []proto.Message
	refusal *pb.SetRefusal
}

// write decides one request. Its fields have the same names in all four.
func (f *fakeSets) write(ctx context.Context, r proto.Message) (*pb.SetReceipt, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	happens := f.next(ctx, "Set")
	m := r.ProtoReflect()
	field := func(name protoreflect.Name) protoreflect.Value { return m.Get(m.Descriptor().Fields().ByName(name)) }
	m.Clear(m.Descriptor().Fields().ByName("last_receipt"))
	if happens == failBefore {
		return nil, false, errDown
	}
	sequence := field("sequence").Uint()
	receipt := &pb.SetReceipt{StoreId: "s", Journal: "system:sets/a", Writer: field("writer").String(),
		Sequence: sequence, Position: sequence + 10, HeadHash: slices.Repeat([]byte{byte(sequence)}, 32)}
	switch n := uint64(len(f.written)); {
	case sequence > n+1 || sequence == 0:
		return nil, false, status.Errorf(codes.FailedPrecondition, "sequence: %d; allowed: %d", sequence, n+1)
	case sequence <= n && !proto.Equal(f.written[sequence-1], r):
		return nil, false, status.Error(codes.AlreadyExists, "used for something else")
	case sequence <= n:
		return receipt, true, nil
	case f.refusal != nil:
		st, err := status.New(codes.ResourceExhausted, "budget exceeded in 1 of 2 ledgers").WithDetails(f.refusal)
		if err != nil {
			panic(err)
		}
		return nil, false, st.Err()
	}
	f.written = append(f.written, proto.Clone(r))
	if happens == failAfter {
		return nil, false, errDown
	}
	return receipt, false, nil
}

func (f *fakeSets) ReportSet(ctx context.Context, r *pb.ReportSetRequest) (*pb.ReportSetResponse, error) {
	if r.CheckOnly {
		return &pb.ReportSetResponse{CheckOnly: true, Ledgers: r.Set.Ledgers, Refusal: f.refusal}, nil
	}
	receipt, replayed, err := f.write(ctx, r)
	return &pb.ReportSetResponse{Receipt: receipt, Replayed: replayed}, err
}

func (f *fakeSets) ReserveSet(ctx context.Context, r *pb.ReserveSetRequest) (*pb.ReserveSetResponse, error) {
	receipt, replayed, err := f.write(ctx, r)
	return &pb.ReserveSetResponse{Receipt: receipt, Replayed: replayed}, err
}

func (f *fakeSets) CommitSet(ctx context.Context, r *pb.CommitSetRequest) (*pb.CommitSetResponse, error) {
	receipt, replayed, err := f.write(ctx, r)
	return &pb.CommitSetResponse{Receipt: receipt, Replayed: replayed}, err
}

func (f *fakeSets) ReleaseSet(ctx context.Context, r *pb.ReleaseSetRequest) (*pb.ReleaseSetResponse, error) {
	receipt, replayed, err := f.write(ctx, r)
	return &pb.ReleaseSetResponse{Receipt: receipt, Replayed: replayed}, err
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
				if _, err := c.CommitSet(ctx, ReservationOf(reserved.GetReceipt()), someEvents(), nil); err != nil {
					t.Fatal(err)
				}
				if _, err := c.ReleaseSet(ctx, ReservationOf(reserved.GetReceipt()), "done"); err != nil {
					t.Fatal(err)
				}
				if len(f.written) != 4 {
					t.Fatalf("written: %v", f.written)
				}
				report := f.written[0].(*pb.ReportSetRequest)
				reserve := f.written[1].(*pb.ReserveSetRequest)
				commit := f.written[2].(*pb.CommitSetRequest)
				release := f.written[3].(*pb.ReleaseSetRequest)
				if report.Set.Range.GetLast() != "07" || report.Charge.Labels["run"] != "7" ||
					commit.Commit.Reservation.Position != 12 || release.Release.Reservation.Position != 12 ||
					release.Release.Reservation.Journal != "system:sets/a" || release.Release.Reason != "done" ||
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
	if len(pending) != 1 || !slices.Equal(pending[0].Set.GetLedgers(), []string{"a", "b"}) ||
		len(pending[0].Action.(*pb.Charge).GetEvents()) != 1 {
		t.Fatalf("pending: %+v", pending)
	}
	down = false
	if _, err := c.ReleaseSet(t.Context(), &pb.SetReservation{Journal: "system:sets/a", Position: 11}, ""); err != nil {
		t.Fatal(err)
	}
	if len(f.written) != 2 || len(c.Pending(SetLane)) != 0 {
		t.Errorf("written %v, pending %v", f.written, c.Pending(SetLane))
	}
}

// A write on a new connection shows the newest receipt of the lane: each request has it in a field of its own.
func TestSetsShowTheirReceipt(t *testing.T) {
	t.Parallel()
	last := &pb.SetReceipt{StoreId: "s", Journal: "system:sets/a", Position: 11, HeadHash: make([]byte, 32)}
	var w witness
	w.see(&pb.ReportSetResponse{Receipt: last})
	for _, write := range []Write{{Set: &pb.LedgerSet{}, Action: &pb.Charge{}},
		{Set: &pb.LedgerSet{}, Action: &pb.Reserve{}},
		{Action: &pb.SetCommit{}}, {Action: &pb.SetRelease{}}} {
		it, _, err := freezeItem("", "", "w", 1, write)
		if err != nil {
			t.Fatal(err)
		}
		_, request, _ := write.unary("", "", 0)
		proto.Reset(request)
		if err := proto.Unmarshal(it.request.with(it.method, w.last("")), request); err != nil {
			t.Fatal(err)
		}
		r, ok := request.(interface{ GetLastReceipt() *pb.SetReceipt })
		if !ok || !proto.Equal(r.GetLastReceipt(), last) {
			t.Errorf("%s: %v", it.method, request)
		}
		if unknown := request.ProtoReflect().GetUnknown(); len(unknown) > 0 {
			t.Errorf("%s: unknown fields %x", it.method, unknown)
		}
	}
}
