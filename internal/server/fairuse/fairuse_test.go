// SPDX-License-Identifier: Apache-2.0

package fairuse

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// counted is a table and what it has refused.
func counted(l Limits) (*Table, map[string]int) {
	refused := map[string]int{}
	return New(l, func(limit string) { refused[limit]++ }), refused
}

// wish is the time to come back in a refusal.
func wish(t *testing.T, err error) time.Duration {
	t.Helper()
	st := status.Convert(err)
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok && st.Code() == codes.ResourceExhausted {
			return info.GetRetryDelay().AsDuration()
		}
	}
	t.Fatalf("%v; want RESOURCE_EXHAUSTED with a time to come back", err)
	return 0
}

// As many calls as the limit are taken at once, then they come at its rate. Others are not concerned.
func TestCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, callsInTime)
}

func callsInTime(t *testing.T) {
	table, refused := counted(Limits{Calls: 2})
	ann, bob := table.Of("cn:ann", true), table.Of("cn:bob", true)
	for n := range 2 {
		if err := ann.Call(); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
	}
	for range 50 { // refused ones cost nothing
		if wait := wish(t, ann.Call()); wait <= 0 || wait > 500*time.Millisecond {
			t.Fatalf("come back in %v; want at most half a second", wait)
		}
	}
	if err := bob.Call(); err != nil {
		t.Error(err)
	}
	if table.Of("cn:ann", true) != ann || refused["calls"] != 50 {
		t.Errorf("refused %v", refused)
	}
}

// Without limits nobody has an account.
func TestNoLimits(t *testing.T) {
	t.Parallel()
	table := New(Limits{}, nil)
	a := table.Of("cn:ann", true)
	a.Charges(t.Context(), 1000)
	a.Spend(time.Hour)
	if a != nil || a.Call() != nil || a.Afford() != nil || a.Count(1000) != 0 {
		t.Errorf("%+v", a)
	}
}

// Names that nobody has proven share one account, and take no room. Proven ones take a bounded one.
func TestTable(t *testing.T) {
	t.Parallel()
	table, _ := counted(Limits{Calls: 1})
	one := table.Of("unverified:a", false)
	for n := range 3 * maxAccounts {
		if table.Of(fmt.Sprint("unverified:", n), false) != one {
			t.Fatal("another account")
		}
	}
	if n := table.accounts.Len(); n != 0 {
		t.Errorf("%d accounts; want none", n)
	}
	for n := range 2 * maxAccounts {
		table.Of(fmt.Sprint("cn:", n), true)
	}
	if n := table.accounts.Len(); n != maxAccounts {
		t.Errorf("%d accounts; want %d", n, maxAccounts)
	}
}

// Charges of a stream wait instead of being refused, not beyond its end.
func TestCharges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, chargesInTime)
}

func chargesInTime(t *testing.T) {
	table, refused := counted(Limits{Calls: 100})
	a := table.Of("cn:ann", true)
	began := time.Now()
	for range 4 {
		a.Charges(t.Context(), 32)
	}
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("128 charges took %v at 100 a second, of which 100 come at once", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.Charges(ctx, 100_000) // does not wait
	if refused["stream"] != 2 {
		t.Errorf("%v", refused)
	}
	if wait := wish(t, a.Call()); wait < 900*time.Second {
		t.Errorf("%v", wait) // they count, though
	}
}

// A question may take more than is left; the next one waits for that.
func TestComputing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, computingInTime)
}

func computingInTime(t *testing.T) {
	table, refused := counted(Limits{Computing: 6 * time.Second})
	a := table.Of("cn:ann", true)
	for range 5 {
		if err := a.Afford(); err != nil {
			t.Fatal(err)
		}
		a.Spend(time.Second)
	}
	a.Spend(31 * time.Second) // more than the minute's
	if wait := wish(t, a.Afford()); wait < 295*time.Second || wait > 301*time.Second {
		t.Errorf("come back in %v; want 300 s: 30 s too much, at 6 s a minute", wait)
	}
	if err := a.Call(); err != nil || refused["computing"] != 1 {
		t.Errorf("%v, %v", err, refused)
	}
}

// BenchmarkCharges counts a charge of a stream as ReportStream does.
func BenchmarkCharges(b *testing.B) {
	table, _ := counted(Limits{Calls: 1e9})
	for _, each := range []int{1, 32} {
		b.Run(fmt.Sprint(each), func(b *testing.B) {
			a, n := table.Of("cn:ann", true), 0
			for b.Loop() {
				if n++; n == each {
					a.Charges(b.Context(), n)
					n = 0
				}
			}
		})
	}
}
