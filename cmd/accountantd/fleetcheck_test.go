package main

import (
	"encoding/hex"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
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

func (l *fleetLoad) names() []string { return slices.Sorted(maps.Keys(l.ledgers)) }

// report tells what the writers did and how long they waited.
func (l *fleetLoad) report() {
	refused := 0
	for _, op := range l.told {
		if op.refused {
			refused++
		}
	}
	slices.Sort(l.took)
	at := func(q float64) float64 { return l.took[int(q*float64(len(l.took)-1))].Seconds() }
	l.t.Logf("%d writes acknowledged, %d refused, %d calls made again; %d questions, %d unanswered; a write took "+
		"%.3f s (median), %.2f s (99 %%), %.2f s (max)", len(l.acked), refused, l.again, l.questions, l.unanswered,
		at(0.5), at(0.99), at(1))
	if len(l.acked) == 0 || len(l.told)/100 > int(l.budget) && refused == 0 {
		l.t.Error("nothing was acknowledged, or no budget has run out")
	}
}

// check compares what is stored with what the writers were told.
func (l *fleetLoad) check(dir string) {
	s, err := persist.Open(persist.Config{Path: filepath.Join(dir, persist.FileName)})
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // read only
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
	for i := range uint8(journals.Count) {
		each(journals.Name(i), func(r ledger.Record) {
			keys[ledger.SetPart{Journal: i, Position: r.Entry.Position}] = key(r.Entry.Writer.Name, r.Entry.Sequence)
		})
	}
	found := map[string][]string{} // key → ledgers
	for _, name := range l.names() {
		g, sums := l.ledgers[name], &balance{left: map[uint64]uint64{}}
		each(name, func(r ledger.Record) {
			k := key(r.Entry.Writer.Name, r.Entry.Sequence)
			if part := r.Entry.Set; part != nil {
				k = keys[ledger.SetPart{Journal: part.Journal, Position: part.Position}]
			}
			n := sums.add(r.Entry)
			if op := l.told[k]; op == nil || op.kind != r.Entry.Action.Kind() || op.kind != "release" && op.coins != n {
				l.t.Errorf("%s has at %d a %s of %d coins by %q; its caller has sent %+v", name, r.Entry.Position,
					r.Entry.Action.Kind(), n, k, op)
			}
			if sums.total() > g.budget {
				l.t.Errorf("%s at %d: %+v of %d", name, r.Entry.Position, *sums, g.budget)
			}
			if told, ok := g.shown[r.Entry.Position]; ok && told.hash != hex.EncodeToString(r.Hash[:]) {
				l.t.Errorf("%s at %d has hash %x; somebody was told %+v", name, r.Entry.Position, r.Hash, told)
			}
			delete(g.shown, r.Entry.Position)
			found[k] = append(found[k], name)
		})
		delete(g.shown, 0) // an answer before the first entry
		for position, head := range g.shown {
			l.t.Errorf("%s: somebody was told of entry %d, which is not there: %+v", name, position, head)
		}
		if sums.spent < g.spent.Load() {
			l.t.Errorf("%s: %d coins are spent; %d were acknowledged", name, sums.spent, g.spent.Load())
		}
	}
	late := 0
	for k, op := range l.told {
		var want []string
		for _, g := range op.ledgers {
			want = append(want, g.name)
		}
		slices.Sort(want)
		got := found[k]
		switch {
		case op.refused && len(got) == 0:
		case op.refused && op.attempts > 1 && slices.Equal(got, want): // an earlier attempt came after the refusal
			late++
		case op.refused || !slices.Equal(got, want):
			l.t.Errorf("%s %s is in %v; its caller was told %+v of %v", op.kind, k, got, op, want)
		}
	}
	l.t.Logf("%d writes are where their callers were told; %d attempts were written after another one was refused",
		len(l.told), late)
}

// balance adds up a ledger's coins by hand.
type balance struct {
	spent uint64
	left  map[uint64]uint64 // of reservations, by position
}

func (b *balance) total() (sum uint64) {
	sum = b.spent
	for _, n := range b.left {
		sum += n
	}
	return sum
}

// add adds an entry, and returns how many coins are in it.
func (b *balance) add(e ledger.Entry) (coins uint64) {
	d := e.Action.Details()
	for _, event := range d.Events {
		coins += uint64(event.Count)
	}
	switch e.Action.Kind() {
	case "charge":
		b.spent += coins
	case "reserve":
		b.left[e.Position] = coins
	case "commit":
		b.spent += coins
		b.left[d.About] -= coins // below zero it is more than any budget
	case "release":
		delete(b.left, d.About)
	}
	return coins
}
