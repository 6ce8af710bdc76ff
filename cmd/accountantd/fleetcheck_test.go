// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist"
)

// acknowledgedAfter waits for a write that is acknowledged after a moment, and returns when it was.
// It returns the zero time after two minutes.
func (l *fleetLoad) acknowledgedAfter(moment time.Time) time.Time {
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		n := len(l.acked)
		i, _ := slices.BinarySearchFunc(l.acked, moment, time.Time.Compare)
		var at time.Time
		if i < n {
			at = l.acked[i]
		}
		l.mu.Unlock()
		if !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// longestGap returns for how long nothing was acknowledged between two moments.
func (l *fleetLoad) longestGap(from, to time.Time) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := from
	i, _ := slices.BinarySearchFunc(l.acked, from, time.Time.Compare)
	for ; i < len(l.acked) && !l.acked[i].After(to); i++ {
		longest, before = max(longest, l.acked[i].Sub(before)), l.acked[i]
	}
	return max(longest, to.Sub(before))
}

func (l *fleetLoad) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.ledgers))
}

// report tells what the writers did and how long they waited.
func (l *fleetLoad) report() {
	counts := map[string]int{}
	for _, op := range l.told {
		counts[op.kind+" "+op.code.String()]++
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		l.t.Logf("%-30s %7d", what, counts[what])
	}
	slices.Sort(l.took)
	at := func(q float64) float64 { return l.took[int(q*float64(len(l.took)-1))].Seconds() }
	l.t.Logf("%d writes acknowledged, %d calls made again; %d questions, %d unanswered; %d ledgers and %d datasets; "+
		"a write took %.3f s (median), %.2f s (99 %%), %.2f s (max)", len(l.acked), l.again, l.questions, l.unanswered,
		len(l.ledgers), len(l.datasets), at(0.5), at(0.99), at(1))
	if len(l.acked) == 0 || len(l.ledgers) > fleetLedgers && counts["charge "+codes.ResourceExhausted.String()] == 0 {
		l.t.Error("nothing was acknowledged, or no budget has run out")
	}
}

// settle waits until the daemons have charged what is left of every reservation whose time is over. Nothing else is
// reserved when the writers have finished.
func (l *fleetLoad) settle() {
	for _, name := range l.names() {
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			reserved := -1.0
			_ = l.try("settle "+name, func(ctx context.Context, c api.Client) error {
				a, err := c.GetLedger(ctx, &pb.GetLedgerRequest{Name: name})
				if err == nil {
					reserved = a.GetLedger().GetBudgets()[0].GetValue().GetReserved()
				}
				return err
			})
			if reserved == 0 {
				break
			}
			if time.Now().After(deadline) {
				l.t.Errorf("%s: ε = %v is reserved five minutes after all was done", name, reserved)
				return
			}
		}
	}
}

// check compares what is stored with what the writers were told.
func (l *fleetLoad) check(dir string) {
	s, err := persist.Open(persist.Config{Path: filepath.Join(dir, persist.FileName)})
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // read only
	l.compare(s, l.decided())
}

// decided returns the writes whose callers were told something until now, by key.
func (l *fleetLoad) decided() map[string]fleetOp {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]fleetOp{}
	for k, op := range l.told {
		if op.answered {
			all[k] = *op
		}
	}
	return all
}

// compare finds each decided write where its caller was told, once, and nothing that nobody has sent. It adds up by
// hand what budgets have left. Nothing may be in flight, and nothing reserved.
func (l *fleetLoad) compare(s ledger.Store, decided map[string]fleetOp) {
	each := func(name string, f func(ledger.Record)) {
		for from := uint64(1); ; from += 1000 {
			records, err := s.Records(name, from, 1000)
			if err != nil && !errors.Is(err, ledger.ErrNotFound) {
				l.t.Fatal(err)
			}
			for _, r := range records {
				f(r)
			}
			if len(records) < 1000 {
				return
			}
		}
	}
	keys := map[ledger.SetPart]string{} // of what was done in sets; of a part only the first two fields
	for i := range uint8(ledger.Journals) {
		each(ledger.JournalName(i), func(r ledger.Record) {
			keys[ledger.SetPart{Journal: i, Position: r.Entry.Position}] = key(r.Entry.Writer.Name, r.Entry.Sequence)
		})
	}
	found := map[string][]string{} // key → ledgers
	for _, name := range l.names() {
		c := ledgerCheck{fleetLoad: l, fleetLedger: l.ledgers[name], left: map[uint64]uint64{},
			brief: map[uint64]bool{}}
		each(name, func(r ledger.Record) {
			k := key(r.Entry.Writer.Name, r.Entry.Sequence)
			if part := r.Entry.Set; part != nil {
				k = keys[ledger.SetPart{Journal: part.Journal, Position: part.Position}]
			}
			if c.entry(r, k) {
				found[k] = append(found[k], name)
			}
		})
		c.finish()
	}
	l.compareDatasets(s)
	late := 0
	for k, op := range decided {
		var want []string
		for _, g := range op.ledgers {
			want = append(want, g.name)
		}
		slices.Sort(want)
		got := found[k]
		switch {
		case op.code != codes.OK && len(got) == 0:
		case op.code == codes.ResourceExhausted && op.attempts > 1 && slices.Equal(got, want): // before the refusal was
			late++ // told, an earlier attempt was under way
		case op.code != codes.OK || !slices.Equal(got, want):
			l.t.Errorf("%s %s is in %v; its caller was told %v of %v", op.kind, k, got, op.code, want)
		}
	}
	l.t.Logf("%d writes are where their callers were told; %d attempts were written after another one was refused",
		len(decided), late)
}

// compareDatasets adds up what datasets have set aside: the whole budget of each ledger, once, and of no other.
func (l *fleetLoad) compareDatasets(s ledger.Store) {
	for _, d := range l.datasets {
		name := "dataset:" + d.id
		records, err := s.Records(name, 1, math.MaxInt32)
		if err != nil {
			l.t.Fatal(err)
		}
		e := newEstateDataset(l.t, ledger.Spec{Name: name,
			Budgets: []accountant.Budget{{Epsilon: eighth * float64(d.budget)}}}, records)
		for _, g := range l.ledgers {
			if g.dataset != d {
				continue
			}
			if e.open[g.name] != int(g.budget) || e.shares[g.name] != 1 {
				l.t.Errorf("%s has set aside %d eighths in %d shares for %s, whose budget is %d", name, e.open[g.name],
					e.shares[g.name], g.name, g.budget)
			}
			delete(e.open, g.name)
		}
		if len(e.open) > 0 {
			l.t.Errorf("%s has set aside for ledgers that nobody was told of: %v", name, e.open)
		}
	}
}

// ledgerCheck adds up a ledger's entries by hand, in eighths.
type ledgerCheck struct {
	*fleetLoad
	*fleetLedger
	used  uint64            // spent
	left  map[uint64]uint64 // of reservations, by position
	brief map[uint64]bool   // those whose time will be over
	last  uint64            // position
}

// entry adds an entry. It reports whether one of the writers has sent it.
func (c *ledgerCheck) entry(r ledger.Record, k string) (sent bool) {
	t, g := c.fleetLoad.t, c.fleetLedger
	d, kind, position := r.Entry.Action.Details(), r.Entry.Action.Kind(), r.Entry.Position
	n := uint64(size(t, d.Events))
	c.last = position
	switch kind {
	case "charge":
		c.used += n
	case "reserve":
		c.left[position] = n
	case "commit":
		c.used += n
		c.left[d.About] -= n // below zero it is more than any budget
	case "release":
		delete(c.left, d.About)
	case "expire":
		if c.left[d.About] == 0 || !c.brief[d.About] {
			t.Errorf("%s at %d: reservation %d expires, of which %d are left", g.name, position, d.About,
				c.left[d.About])
		}
		c.used += c.left[d.About]
		delete(c.left, d.About)
	}
	sum := c.used
	for _, n := range c.left {
		sum += n
	}
	if sum > g.budget {
		t.Errorf("%s at %d: %d eighths are spent and reserved of %d", g.name, position, sum, g.budget)
	}
	g.mu.Lock()
	if told, ok := g.shown[position]; ok && told.hash != hex.EncodeToString(r.Hash[:]) {
		t.Errorf("%s at %d has hash %x; somebody was told %+v", g.name, position, r.Hash, told)
	}
	g.mu.Unlock()
	if kind == "expire" {
		return false
	}
	c.fleetLoad.mu.Lock()
	op := c.told[k]
	c.fleetLoad.mu.Unlock()
	if op == nil || op.kind != kind || op.size != n {
		t.Errorf("%s has at %d a %s of %d eighths by %q; its caller has sent %+v", g.name, position, kind, n, k, op)
		return true
	}
	c.brief[position] = op.brief
	return true
}

// finish compares the sums with what was told.
func (c *ledgerCheck) finish() {
	t, g := c.fleetLoad.t, c.fleetLedger
	for position, head := range g.shown {
		if position > c.last {
			t.Errorf("%s: somebody was told of entry %d, which is not there: %+v", g.name, position, head)
		}
	}
	if c.used < g.spent.Load() {
		t.Errorf("%s: %d eighths are spent; %d were acknowledged", g.name, c.used, g.spent.Load())
	}
	if len(c.left) > 0 {
		t.Errorf("%s: still reserved, by position: %v", g.name, c.left)
	}
}
