// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

var noon = time.Unix(1_700_000_000, 0)

func noise(sigma float64) mechanism.Mechanism {
	return mechanism.Gaussian{StandardDeviation: sigma, Sensitivity: 1}
}

func event(sigma float64, count uint32) mechanism.Event {
	return mechanism.Event{Mechanism: noise(sigma), Count: count}
}

func request(writer string, sequence uint64, events ...mechanism.Event) Request {
	return Request{
		Writer: Writer{"p", writer}, Sequence: sequence, Digest: Digest{byte(len(events)), byte(sequence)},
		Action: Charge{Events: events},
	}
}

func closing(writer string, sequence uint64) Request {
	return Request{Writer: Writer{"p", writer}, Sequence: sequence, Action: Close{"done"}}
}

func check(r Request) Request {
	r.CheckOnly = true
	return r
}

// A snapshot of three Gaussians at position 7.
func snapshot() Snapshot {
	return Snapshot{
		Summary: Summary{
			Genesis:  Genesis{Spec: Spec{Name: "a", Adjacency: mechanism.AddOrRemoveOne}},
			Head:     Head{Position: 7, Hash: Hash{7}},
			Distinct: 3, Total: 60,
		},
		Parts: []mechanism.Part{{Mechanism: noise(1), Count: 10}, {Mechanism: noise(2), Count: 20},
			{Mechanism: noise(3), Count: 30}},
	}
}

func TestDecide(t *testing.T) {
	s := snapshot()
	for _, c := range []struct {
		name      string
		before    []Request // accepted in the same batch
		request   Request
		committed uint64
		want      Decision // Err: the sentinel
		message   string
	}{
		{name: "first", request: request("w", 1, event(1, 1)), want: Decision{Outcome: Accepted}},
		{name: "next", request: request("w", 5, event(1, 1)), committed: 4, want: Decision{Outcome: Accepted}},
		{name: "next in the batch", before: []Request{request("w", 1, event(1, 1))},
			request: request("w", 2, event(1, 1)), want: Decision{Outcome: Accepted, Entry: 1}},
		{name: "gap", request: request("w", 6), committed: 4, want: Decision{Err: ErrGap, Entry: -1},
			message: "sequence: 6; allowed: 5, the next of writer w"},
		{name: "gap in the batch", before: []Request{request("w", 1), request("w", 2)},
			request: request("w", 4), want: Decision{Err: ErrGap, Entry: -1}, message: "sequence: 4; allowed: 3"},
		{name: "number 0", request: request("w", 0), committed: 4, want: Decision{Err: ErrGap, Entry: -1},
			message: "sequence: 0; allowed: 5"},
		{name: "number 0 of a new writer", request: request("w", 0), want: Decision{Err: ErrGap, Entry: -1}},
		{name: "the greatest number", request: request("w", math.MaxUint64), want: Decision{Err: ErrGap, Entry: -1}},
		{name: "duplicate of what is committed", request: request("w", 3), committed: 4,
			want: Decision{Outcome: Duplicate, Entry: -1}},
		{name: "duplicate in the batch", before: []Request{request("v", 1), request("w", 5), request("w", 6)},
			request: request("w", 5), committed: 4, want: Decision{Outcome: Duplicate, Entry: 1}},
		{name: "duplicate of an older one, with others in the batch", before: []Request{request("w", 5)},
			request: request("w", 4), committed: 4, want: Decision{Outcome: Duplicate, Entry: -1}},
		{name: "another principal's writer of that name", before: []Request{request("w", 1)},
			request: Request{Writer: Writer{"q", "w"}, Sequence: 2, Action: Charge{}},
			want:    Decision{Err: ErrGap, Entry: -1}},
		{name: "closed in the batch", before: []Request{closing("v", 1)}, request: request("w", 1, event(1, 1)),
			want: Decision{Err: ErrClosed, Entry: -1}, message: "ledger: a; allowed: an open ledger"},
		{name: "duplicate after the close", before: []Request{request("w", 1), closing("v", 1)},
			request: request("w", 1), want: Decision{Outcome: Duplicate}},
		{name: "gap after the close", before: []Request{closing("v", 1)}, request: request("w", 2),
			want: Decision{Err: ErrGap, Entry: -1}},
		{name: "second close", before: []Request{closing("v", 1)}, request: closing("w", 1),
			want: Decision{Err: ErrClosed, Entry: -1}},
		{name: "check only", request: check(request("w", 1, event(9, 1))),
			want: Decision{Outcome: Accepted, Entry: -1}},
		{name: "check only of a duplicate", request: check(request("w", 1)), committed: 1,
			want: Decision{Outcome: Duplicate, Entry: -1}},
		{name: "check only of a gap", request: check(request("w", 2)), want: Decision{Err: ErrGap, Entry: -1}},
		{name: "check only of a close", request: check(closing("w", 1)), want: Decision{Outcome: Accepted, Entry: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBatch(NewState(s))
			b.Grow(3)
			committed := map[string]uint64{c.request.Writer.Name: c.committed}
			for _, r := range c.before {
				if d := b.Decide(r, Lane{Sequence: committed[r.Writer.Name]}, noon); d.Outcome != Accepted {
					t.Fatalf("before: %+v", d)
				}
			}
			p := b.Proposal()
			d := b.Decide(c.request, Lane{Sequence: c.committed}, noon)
			if d.Outcome != c.want.Outcome || d.Entry != c.want.Entry || !errors.Is(d.Err, c.want.Err) ||
				(d.Err == nil) != (c.want.Err == nil) {
				t.Fatalf("decision: %+v; want %+v", d, c.want)
			}
			if c.message != "" && !strings.Contains(d.Err.Error(), c.message) {
				t.Errorf("message: %q; want %q in it", d.Err, c.message)
			}
			after := b.Proposal()
			if d.Outcome == Accepted && d.Entry >= 0 {
				want := Entry{Position: uint64(8 + d.Entry), Writer: c.request.Writer, Sequence: c.request.Sequence,
					Digest: c.request.Digest, Time: noon}
				got := b.Entries()[d.Entry]
				if got.Position != want.Position || got.Writer != want.Writer || got.Sequence != want.Sequence ||
					got.Digest != want.Digest || got.Time != want.Time {
					t.Errorf("entry: %+v; want %+v", got, want)
				}
			} else if len(after.Entries) != len(p.Entries) || len(after.Counts) != len(p.Counts) ||
				after.Total != p.Total || after.Closed != p.Closed {
				t.Errorf("proposal: %+v; want it unchanged: %+v", after, p)
			}
		})
	}
}

// A charge counts all its events or none.
func TestTotalsAreBounded(t *testing.T) {
	s := snapshot()
	s.Total = math.MaxInt64 - 10
	s.Parts[2].Count = s.Total - 30
	b := NewBatch(NewState(s))
	d := b.Decide(request("w", 1, event(1, 4), event(2, 7)), Lane{}, noon)
	if !errors.Is(d.Err, ErrOutOfRange) ||
		!strings.Contains(d.Err.Error(), "events[1].count: 7; allowed: at most 6 more") {
		t.Fatalf("decision: %+v", d)
	}
	if d := b.Decide(request("w", 1, event(1, 4), event(9, 6)), Lane{}, noon); d.Outcome != Accepted {
		t.Fatalf("up to 2^63 − 1: %+v", d)
	}
	if d := b.Decide(request("w", 2, event(1, 1)), Lane{}, noon); !errors.Is(d.Err, ErrOutOfRange) {
		t.Fatalf("one more: %+v", d)
	}
	p := b.Proposal()
	want := []CountChange{{0, noise(1), 14}, {3, noise(9), 6}}
	if p.Total != math.MaxInt64 || !slices.Equal(p.Counts, want) {
		t.Errorf("proposal: total %d, counts %v; want %v", p.Total, p.Counts, want)
	}
}

func TestDistinctMechanismsAreBounded(t *testing.T) {
	s := snapshot()
	s.Parts = nil
	for i := range MaxDistinct - 2 {
		s.Parts = append(s.Parts, mechanism.Part{Mechanism: noise(float64(i + 1)), Count: 1})
	}
	s.Total, s.Distinct = uint64(len(s.Parts)), len(s.Parts)
	state := NewState(s)
	b := NewBatch(state)
	decide := func(sequence uint64, events ...mechanism.Event) error {
		return b.Decide(request("w", sequence, events...), Lane{}, noon).Err
	}
	if err := decide(1, event(0.1, 1), event(0.2, 1), event(0.3, 1)); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("three more than two: %v", err)
	}
	if err := decide(1, event(0.1, 1), event(0.1, 1), event(1, 1), event(0.1, 1)); err != nil {
		t.Errorf("one more, named three times: %v", err)
	}
	if err := decide(2, event(0.1, 1), event(0.2, 1)); err != nil {
		t.Errorf("the last one: %v", err)
	}
	if err := decide(3, event(0.3, 1)); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("one too many: %v", err)
	}
	if err := decide(3, event(0.2, 1), event(2, 1)); err != nil {
		t.Errorf("known ones: %v", err)
	}
	state.Apply(b, Head{10, Hash{1}})
	if sum := state.Summary(); sum.Distinct != MaxDistinct || sum.Total != MaxDistinct-2+8 {
		t.Errorf("%d distinct, total %d; want %d and 8 more", sum.Distinct, sum.Total, MaxDistinct)
	}
}

// A bounded batch takes no new mechanisms once a ledger's have too many bytes, nor
// reservations that hold too many; what a ledger has can be charged for ever. An audit
// decides without these bounds.
func TestBound(t *testing.T) {
	wide := func(i int) mechanism.Mechanism {
		numbers := make([]float64, 4096)
		numbers[0] = float64(i + 1)
		return mechanism.BandedMatrix{NoiseMultiplier: 1e9, Participation: mechanism.Participation{Steps: 4096},
			Coefficients: mechanism.NumbersOf(numbers...)}
	}
	known := mechanism.GaussianDP{Mu: 1e-9}
	s := NewState(resolved(t, filter(accountant.Budget{Guard: accountant.GuardGDP, Mu: 1000})))
	s.learn(known)
	s.bytes = maxDescriptorBytes - 10
	for _, bounded := range []bool{true, false} {
		b, writer := NewBatch(s), Writer{"p", "w"}
		if bounded {
			b.Bound()
		}
		next := uint64(0)
		decide := func(v Action) error {
			next++
			d := b.Decide(Request{Writer: writer, Sequence: next, Action: v}, Lane{}, noon)
			if d.Err != nil {
				next--
			}
			return d.Err
		}
		if err := decide(Charge{Events: []mechanism.Event{{Mechanism: known, Count: 5}}}); err != nil {
			t.Errorf("bounded %v, a known mechanism: %v", bounded, err)
		}
		if err := decide(Charge{Events: []mechanism.Event{{Mechanism: wide(0), Count: 1}}}); errors.Is(err,
			ErrOutOfRange) != bounded {
			t.Errorf("bounded %v, a new mechanism: %v", bounded, err)
		}
	}
	s.bytes = 0
	for _, bounded := range []bool{true, false} {
		b := NewBatch(s)
		if bounded {
			b.Bound()
		}
		taken := 0
		for i := range 100 {
			d := b.Decide(Request{Writer: Writer{"p", fmt.Sprint(i)}, Sequence: 1,
				Action: Reserve{Events: []mechanism.Event{{Mechanism: wide(i), Count: 1}}, Lifetime: time.Hour}},
				Lane{}, noon)
			if d.Err == nil {
				taken++
			} else if !errors.Is(d.Err, ErrOutOfRange) {
				t.Fatal(d.Err)
			}
		}
		if most := MaxReservedBytes / mechanism.Size(wide(0)); bounded && taken != most || !bounded && taken != 100 {
			t.Errorf("bounded %v: %d of 100 reservations were taken; %d have room", bounded, taken, most)
		}
	}
}
