// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

var start = time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)

var alice = ledger.Writer{Principal: "cn:alice", Name: "request/a"}

// clockedTable is a table on a clock that moves on by a second at each look.
func clockedTable(said func(error) *pb.Refusal) *refusals {
	now := start.Add(-time.Second)
	return newRefusals(refusalConfig{Now: func() time.Time { now = now.Add(time.Second); return now }, Say: said,
		Summary: func(context.Context, string) (ledger.Summary, error) { return ledger.Summary{}, nil }})
}

func plainly(err error) *pb.Refusal {
	return &pb.Refusal{Reason: "budget exceeded", Detail: err.Error()}
}

func ask(t *testing.T, table *refusals, name string) *pb.ListRefusalsResponse {
	t.Helper()
	answer, err := table.ListRefusals(t.Context(), &pb.ListRefusalsRequest{Ledger: name})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// dumbTable remembers everything: the refusals of all ledgers in their order. What a table knows follows from it.
type dumbTable struct {
	refused []string // the ledger of each refusal
	at      []time.Time
}

// The table answers what follows from all refusals: the count since the time that it says, which is never too small
// for that time, and the newest ones in their order.
func TestLikeADumbTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := 0
		table := clockedTable(func(error) *pb.Refusal {
			number++
			return &pb.Refusal{Detail: fmt.Sprint(number), Reason: "budget exceeded"}
		})
		// A table of 1,000 would forget nothing here.
		room := rapid.IntRange(1, 4).Draw(t, "room")
		table.ledgers.Resize(room)
		all := dumbTable{}
		for range rapid.IntRange(0, 80).Draw(t, "refusals") {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "ledger")
			table.Add(name, alice, 1, ledger.ErrBudget)
			all.refused = append(all.refused, name)
			answer, err := table.ListRefusals(context.Background(), &pb.ListRefusalsRequest{Ledger: name})
			if err != nil {
				t.Fatal(err)
			}
			all.at = append(all.at, answer.GetRefusals()[0].GetTime().AsTime())
		}
		bytes := 0
		for _, name := range []string{"a", "b", "c", "d", "e", "never"} {
			answer, err := table.ListRefusals(context.Background(), &pb.ListRefusalsRequest{Ledger: name})
			if err != nil {
				t.Fatal(err)
			}
			since := answer.GetCountStartTime().AsTime()
			count, want := uint64(0), []string{}
			distinct := map[string]bool{}
			for i := len(all.refused) - 1; i >= 0; i-- {
				if all.refused[i] == name && all.at[i].After(since) {
					count++
					if len(want) < maxNewest {
						want = append(want, fmt.Sprint(i+1))
					}
				}
				distinct[all.refused[i]] = true
			}
			if answer.GetCount() != count {
				t.Fatalf("%s: %d refusals since %s; there were %d", name, answer.GetCount(), since, count)
			}
			got := []string{}
			for _, m := range answer.GetRefusals() {
				got = append(got, m.GetDetail())
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: the newest are %v; want %v", name, got, want)
			}
			if len(distinct) <= room && !since.Equal(start) {
				t.Fatalf("%s: counted since %s, although there was room for all", name, since)
			}
			if r, ok := table.ledgers.Peek(name); ok {
				bytes += r.bytes
			}
		}
		if bytes != table.bytes || table.ledgers.Len() > room {
			t.Fatalf("%d bytes are counted of %d in %d ledgers", table.bytes, bytes, table.ledgers.Len())
		}
	})
}

// Somebody who is refused as often as he likes, in as many ledgers as there are and with the longest texts, gets no
// more memory than the table has; whoever is refused after that is remembered all the same.
func TestAttackerFillsNothing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	shortfalls := make([]*pb.BudgetExceeded_Shortfall, 32)
	for i := range shortfalls {
		shortfalls[i] = &pb.BudgetExceeded_Shortfall{Unit: strings.Repeat("u", 256), Reason: strings.Repeat("r", 256)}
	}
	table := clockedTable(func(error) *pb.Refusal {
		return &pb.Refusal{Detail: long, BudgetExceeded: &pb.BudgetExceeded{Shortfalls: shortfalls}}
	})
	writer := ledger.Writer{Principal: strings.Repeat("p", 256), Name: "request/" + strings.Repeat("w", 128)}
	for i := range 3 * maxRefusalLedgers {
		for range maxNewest {
			table.Add(fmt.Sprintf("team/%060d", i), writer, 1, ledger.ErrBudget)
		}
		if table.bytes > maxRefusalBytes || table.ledgers.Len() > maxRefusalLedgers {
			t.Fatalf("%d bytes of %d ledgers", table.bytes, table.ledgers.Len())
		}
	}
	held := 0
	for _, r := range table.ledgers.Values() {
		for _, encoded := range r.newest {
			held += cap(encoded)
		}
	}
	if held > maxRefusalBytes {
		t.Errorf("the refusals hold %d bytes; allowed are %d", held, maxRefusalBytes)
	}
	table.Add("mine", alice, 7, ledger.ErrClosed)
	answer := ask(t, table, "mine")
	if answer.GetCount() != 1 || len(answer.GetRefusals()) != 1 ||
		len(answer.GetRefusals()[0].GetDetail()) > maxRefusalDetail {
		t.Errorf("%v", answer)
	}
	if !strings.Contains(answer.GetText(), "may have forgotten refusals before") {
		t.Errorf("%q does not say that something may be forgotten", answer.GetText())
	}
	if forgotten := ask(t, table, fmt.Sprintf("team/%060d", 0)); forgotten.GetCount() != 0 ||
		!strings.Contains(forgotten.GetText(), "may have forgotten refusals before") {
		t.Errorf("%v", forgotten)
	}
}

// Mistakes of a request are no refusals by its ledger, and neither is what may still be written.
func TestWhatCounts(t *testing.T) {
	t.Parallel()
	for err, counts := range map[error]bool{
		ledger.ErrBudget: true, ledger.ErrClosed: true, ledger.ErrReservation: true, ledger.ErrUnreconciled: true,
		ledger.ErrEnded: true, ledger.ErrDataset: true, ledger.ErrOutOfRange: true,
		ledger.ErrNotFound: false, ledger.ErrGap: false, ledger.ErrReused: false, ledger.ErrTaken: false,
		ledger.ErrTooLarge: false, ledger.ErrUnknown: false, ledger.ErrUnavailable: false, ledger.ErrDamaged: false,
		ledger.ErrConflict: false, ledger.ErrNotCreator: false, ledger.ErrSystem: false, ledger.ErrSet: false,
		context.Canceled: false, errors.New("charge: missing"): false,
	} {
		table := clockedTable(plainly)
		table.Add("a", alice, 1, fmt.Errorf("%w: more about it", err))
		if got := ask(t, table, "a").GetCount() == 1; got != counts {
			t.Errorf("%v: counted: %v", err, got)
		}
	}
}

// Each ledger of a set that refused remembers its own reason, and those that would have taken it remember nothing.
func TestSets(t *testing.T) {
	t.Parallel()
	table := clockedTable(plainly)
	table.addSet(alice, 3, fmt.Errorf("the set: %w", &ledger.SetRefusal{Set: []string{"a", "b", "c", "d"},
		Refused: []ledger.MemberRefusal{{Ledger: "a", Err: fmt.Errorf("ledger a: %w: 1 is left", ledger.ErrBudget)},
			{Ledger: "c", Err: ledger.ErrClosed}, {Ledger: "d", Err: ledger.ErrNotFound}}}))
	for name, want := range map[string]string{"a": "budget exceeded: 1 is left", "b": "", "c": "ledger is closed",
		"d": ""} {
		got := ask(t, table, name)
		if (want != "") != (got.GetCount() == 1) {
			t.Fatalf("%s: %v", name, got)
		}
		if want != "" {
			m := got.GetRefusals()[0]
			if m.GetDetail() != want || m.GetSetLedgers() != 4 || m.GetSequence() != 3 ||
				m.GetPrincipal() != "cn:alice" || m.GetWriter() != "request/a" {
				t.Errorf("%s: %v; want %q", name, m, want)
			}
		}
	}
	table.addSet(alice, 4, ledger.ErrBudget) // which says of no ledger that it refused
	if n := table.ledgers.Len(); n != 2 {
		t.Errorf("%d ledgers are remembered; want 2", n)
	}
}

// A text that is no UTF-8 takes nothing else with it.
func TestNoUTF8(t *testing.T) {
	t.Parallel()
	table := clockedTable(plainly)
	table.Add("a", alice, 1, fmt.Errorf("%w: \xff", ledger.ErrBudget))
	m := ask(t, table, "a").GetRefusals()
	if len(m) != 1 || m[0].GetReason() != "budget exceeded" || m[0].GetTime() == nil {
		t.Errorf("%v", m)
	}
}

// Many add and ask at once; nothing is lost and no answer is half of one.
func TestTogether(t *testing.T) {
	t.Parallel()
	table := newRefusals(refusalConfig{Now: time.Now, Say: plainly,
		Summary: func(context.Context, string) (ledger.Summary, error) { return ledger.Summary{}, nil }})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 500 {
				name := fmt.Sprint("ledger-", (n+i)%20)
				table.Add(name, alice, uint64(n), ledger.ErrBudget)
				answer, err := table.ListRefusals(t.Context(), &pb.ListRefusalsRequest{Ledger: name})
				if err != nil || answer.GetCount() == 0 ||
					len(answer.GetRefusals()) != int(min(answer.GetCount(), maxNewest)) {
					t.Errorf("%v, %v", answer, err)
				}
			}
		})
	}
	all.Wait()
	total := uint64(0)
	for i := range 20 {
		total += ask(t, table, fmt.Sprint("ledger-", i)).GetCount()
	}
	if total != 8*500 {
		t.Errorf("%d refusals were counted; there were %d", total, 8*500)
	}
}

// What is kept never changes: an answer that was given is not overwritten by later refusals.
func TestAnswersStay(t *testing.T) {
	t.Parallel()
	table := clockedTable(plainly)
	table.Add("a", alice, 1, ledger.ErrBudget)
	answer := ask(t, table, "a")
	before := proto.Clone(answer)
	for range 3 * maxNewest {
		table.Add("a", ledger.Writer{Principal: "cn:bob", Name: "request/b"}, 2, ledger.ErrClosed)
	}
	if !proto.Equal(answer, before) {
		t.Errorf("%v became %v", before, answer)
	}
}

// What a refusal costs besides being refused.
func BenchmarkAdd(b *testing.B) {
	table := newRefusals(refusalConfig{Now: time.Now, Say: plainly})
	err := fmt.Errorf("%w: budgets[0] (ε = 8 at δ = 1e-05 by RDP): needs 1.2 of ε, 0.3 is left, short by 0.9",
		ledger.ErrBudget)
	b.ReportAllocs()
	for b.Loop() {
		table.Add("bench", alice, 1, err)
	}
}
