// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// model is the dumb ledger: a list of entries, looked through for each question.
type model struct {
	base      Snapshot
	committed []Record
	pending   []Entry
}

func (m *model) all() (entries []Entry) {
	for _, r := range m.committed {
		entries = append(entries, r.Entry)
	}
	return append(entries, m.pending...)
}

func (m *model) last(w Writer, entries []Entry) (n uint64) {
	for _, e := range entries {
		if e.Writer == w {
			n++
		}
	}
	return n
}

// parts adds up the base and entries, in the order of first use.
func (m *model) parts(entries []Entry) (parts []mechanism.Part, total uint64, closed bool) {
	parts = slices.Clone(m.base.Parts)
	total = m.base.Total
	for _, e := range entries {
		c, ok := e.Action.(Charge)
		closed = closed || !ok
		for _, ev := range c.Events {
			i := slices.IndexFunc(parts, func(p mechanism.Part) bool { return p.Mechanism == ev.Mechanism })
			if i < 0 {
				i = len(parts)
				parts = append(parts, mechanism.Part{Mechanism: ev.Mechanism})
			}
			parts[i].Count += uint64(ev.Count)
			total += uint64(ev.Count)
		}
	}
	return parts, total, closed
}

// decide is what Decide should say: the outcome, the entry and the sentinel.
func (m *model) decide(r Request) (Outcome, int, error) {
	entries := m.all()
	_, total, closed := m.parts(entries)
	last := m.last(r.Writer, entries)
	switch {
	case r.Sequence == 0 || r.Sequence > last+1:
		return Refused, -1, ErrGap
	case r.Sequence <= last:
		return Duplicate, slices.IndexFunc(m.pending,
			func(e Entry) bool { return e.Writer == r.Writer && e.Sequence == r.Sequence }), nil
	case closed:
		return Refused, -1, ErrClosed
	}
	if c, ok := r.Action.(Charge); ok {
		for _, e := range c.Events {
			if total += uint64(e.Count); total > math.MaxInt64 {
				return Refused, -1, ErrOutOfRange
			}
		}
	}
	if r.CheckOnly {
		return Accepted, -1, nil
	}
	m.pending = append(m.pending, Entry{
		Position: uint64(len(entries)) + 1, Writer: r.Writer, Sequence: r.Sequence, Digest: r.Digest,
		Time: noon, Action: r.Action,
	})
	return Accepted, len(m.pending) - 1, nil
}

func drawRequest(rt *rapid.T, m *model) Request {
	w := Writer{rapid.SampledFrom([]string{"p", "q"}).Draw(rt, "principal"),
		rapid.SampledFrom([]string{"v", "w"}).Draw(rt, "writer")}
	r := Request{Writer: w, CheckOnly: rapid.IntRange(0, 4).Draw(rt, "check only") == 0,
		Digest: Digest{rapid.Byte().Draw(rt, "digest")}}
	// Around the next one: mostly right.
	r.Sequence = m.last(w, m.all()) + uint64(rapid.SampledFrom([]int{1, 1, 1, 1, 0, 2, -1, -3}).Draw(rt, "sequence"))
	if r.Sequence > math.MaxInt64 {
		r.Sequence = 0
	}
	if rapid.IntRange(0, 30).Draw(rt, "close") == 0 {
		r.Action = Close{}
		return r
	}
	var c Charge
	for range rapid.IntRange(1, 3).Draw(rt, "events") {
		count := rapid.OneOf(rapid.Uint32Range(1, 5), rapid.Just(uint32(math.MaxUint32))).Draw(rt, "count")
		c.Events = append(c.Events, event(float64(rapid.IntRange(1, 5).Draw(rt, "sigma")), count))
	}
	r.Action = c
	return r
}

// Decisions, batches that are applied or discarded, and states that are read
// again agree with the dumb ledger.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{base: Snapshot{Summary: Summary{Genesis: Genesis{Spec: Spec{Name: "a",
			Adjacency: mechanism.ZeroOut}}, Head: Head{Hash: Hash{1}}}}}
		if rapid.Bool().Draw(rt, "nearly full") {
			m.base.Total = math.MaxInt64 -
				uint64(rapid.SampledFrom([]uint32{0, 3, 20, math.MaxUint32}).Draw(rt, "room"))
			m.base.Parts = []mechanism.Part{{Mechanism: noise(1), Count: m.base.Total}}
			m.base.Distinct = 1
		}
		state := NewState(m.base)
		batch := NewBatch(state)
		rt.Repeat(map[string]func(*rapid.T){
			"decide": func(rt *rapid.T) {
				for range rapid.IntRange(1, 8).Draw(rt, "requests") {
					m.checkDecision(rt, batch)
				}
			},
			"apply": func(rt *rapid.T) {
				m.checkProposal(rt, batch, state)
				for i, e := range m.pending {
					m.committed = append(m.committed,
						Record{Entry: e, Hash: Hash{byte(e.Position), byte(e.Position >> 8), byte(i)}})
				}
				m.pending = nil
				if n := len(m.committed); n > 0 {
					state.Apply(batch, Head{uint64(n), m.committed[n-1].Hash})
				}
				batch = NewBatch(state)
			},
			"discard": func(*rapid.T) {
				m.pending = nil
				batch = NewBatch(state)
			},
			"": func(rt *rapid.T) {
				m.checkState(rt, state)
				m.checkState(rt, after(m.base, m.committed))
			},
		})
	})
}

// after is a ledger as a store gives it after more records.
func after(base Snapshot, records []Record) *State {
	bare := base
	bare.Genesis.Spec.Policy = Descriptive // which has no budgets, whose costs would have to be found
	s := NewState(bare)
	s.Follow(records)
	now := Snapshot{Summary: s.Summary(), Parts: s.Parts(), Open: s.Reservations(),
		Amended: slices.Concat(base.Amended, amended(records))}
	now.Genesis = base.Genesis
	return NewState(now)
}

func (m *model) checkDecision(rt *rapid.T, b *Batch) {
	r := drawRequest(rt, m)
	committed := uint64(0)
	for _, rec := range m.committed {
		if rec.Entry.Writer == r.Writer {
			committed++
		}
	}
	outcome, entry, err := m.decide(r)
	d := b.Decide(r, Lane{Sequence: committed}, noon)
	if d.Outcome != outcome || !errors.Is(d.Err, err) || (d.Err == nil) != (err == nil) || d.Entry != entry {
		rt.Fatalf("decision: %+v; want %v, %v, %d", d, outcome, err, entry)
	}
}

func (m *model) checkProposal(rt *rapid.T, b *Batch, state *State) {
	p := b.Proposal()
	parts, total, closed := m.parts(m.all())
	if p.Ledger != "a" || p.Expected != state.Summary().Head || p.Total != total || p.Closed != closed ||
		len(p.Entries) != len(m.pending) {
		rt.Fatalf("proposal: %+v; want total %d, closed %v, %d entries", p, total, closed, len(m.pending))
	}
	for i, e := range p.Entries {
		want := m.pending[i]
		if e.Position != want.Position || e.Writer != want.Writer || e.Sequence != want.Sequence ||
			e.Digest != want.Digest {
			rt.Fatalf("entry %d: %+v; want %+v", i, e, want)
		}
	}
	old := state.Composition().Parts
	before := make([]uint64, len(p.Counts))
	changed := 0
	for i, c := range p.Counts {
		if c.Index < len(old) {
			before[i] = old[c.Index].Count
		}
		if want := parts[c.Index]; c.Mechanism != want.Mechanism || c.Total != want.Count {
			rt.Fatalf("count: %+v; want %+v", c, want)
		}
	}
	for i, part := range parts {
		if i >= len(old) || part.Count != old[i].Count {
			changed++
		}
	}
	if changed != len(p.Counts) {
		rt.Fatalf("counts: %d; want the %d that changed", len(p.Counts), changed)
	}
	if len(p.Entries) > 0 {
		if err := p.Check(Stored{Summary: state.Summary(), Totals: before}); err != nil {
			rt.Fatal(err)
		}
	}
}

func (m *model) checkState(rt *rapid.T, s *State) {
	var entries []Entry
	head := m.base.Head
	for _, r := range m.committed {
		entries = append(entries, r.Entry)
		head = Head{r.Entry.Position, r.Hash}
	}
	parts, total, closed := m.parts(entries)
	sum, c := s.Summary(), s.Composition()
	if sum.Head != head || sum.Total != total || sum.Closed != closed || sum.Distinct != len(parts) ||
		c.Adjacency != mechanism.ZeroOut || !slices.Equal(c.Parts, parts) {
		rt.Fatalf("state: %+v, %v; want head %v, total %d, closed %v, %v", sum, c.Parts, head, total, closed, parts)
	}
}
