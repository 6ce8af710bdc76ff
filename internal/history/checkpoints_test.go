// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// damaging changes the checkpoints that a store gives, as nothing but a mistake could: with good checksums.
type damaging struct {
	ledger.Store
	damage func(*ledger.Checkpoint)
}

func (d damaging) Checkpoints(name string, after, upTo uint64, limit int) ([]ledger.Checkpoint, error) {
	list, err := d.Store.Checkpoints(name, after, upTo, limit)
	for i := range list {
		d.damage(&list[i])
	}
	return list, err
}

func genesis(t *testing.T, s ledger.Store, name string) ledger.Genesis {
	t.Helper()
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Genesis
}

// walk returns the views of a ledger at some positions, and at how many of them a checkpoint was used.
func walk(t *testing.T, s ledger.Store, name string, leaps bool, positions ...uint64) (views []ledger.View, used int) {
	t.Helper()
	w := history.NewWalk(genesis(t, s, name))
	for _, position := range positions {
		before := w.Position()
		if leaps {
			if err := w.Leap(s, position); err != nil {
				t.Fatal(err)
			}
		}
		if w.Position() != before {
			used++
		}
		if _, err := history.Each(s, name, w.Position(), position, func() bool { return false }, w.Take); err != nil {
			t.Fatal(err)
		}
		v := w.View()
		if shares, held := w.Shares(nil); len(shares) > 0 {
			v.Guarantee += fmt.Sprint(shares, held, w.Time())
		}
		views = append(views, v)
	}
	return views, used
}

// A walk with checkpoints says at each position what a walk through all entries says: with reservations, refunds,
// raises and restores, in steps of any length. Checkpoints that do not fit to the entries are not used.
func TestLeapsAreAsReading(t *testing.T) {
	t.Parallel()
	random, leaps := rand.New(rand.NewPCG(1, 2)), 0
	for seed := range uint64(2 * audittest.Kinds) {
		s := memory.New(memory.Config{})
		audittest.Fill(t, s, audittest.Spec("l", int(seed%audittest.Kinds)), 300+random.IntN(2500), seed)
		g := genesis(t, s, "l")
		sum, _ := s.Load("l")
		head := sum.Head.Position
		for to := range 4 { // as entries come
			if _, _, err := history.Mark(s, g, head*uint64(to+1)/4, uint64(random.IntN(1000))); err != nil {
				t.Fatal(err)
			}
		}
		for read := uint64(0); read < head; {
			var err error
			if read, _, err = history.Mark(s, g, head, 300); err != nil {
				t.Fatal(err)
			}
		}
		marks, err := s.Checkpoints("l", 0, math.MaxUint64, math.MaxInt)
		if err != nil || len(marks) == 0 && head > 1000 {
			t.Fatalf("%d checkpoints of %d entries, %v", len(marks), head, err)
		}
		since := uint64(0)
		for _, m := range marks {
			records, _ := s.Records("l", since+1, int(m.Head.Position-since))
			earliest := records[0].Entry.Time
			for _, r := range records {
				if r.Entry.Time.Before(earliest) {
					earliest = r.Entry.Time
				}
			}
			if m.Since != since || !m.Earliest.Equal(earliest) {
				t.Fatalf("%+v; want since %d, earliest %v", m, since, earliest)
			}
			since = m.Head.Position
		}
		var positions []uint64
		for at := uint64(0); at < head; {
			at = min(head, at+1+random.Uint64N(1200))
			positions = append(positions, at)
		}
		want, _ := walk(t, s, "l", false, positions...)
		got, used := walk(t, s, "l", true, positions...)
		leaps += used
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("kind %d, position %d: %+v; want %+v", seed%4, positions[i], got[i], want[i])
			}
		}
		for what, damage := range map[string]func(*ledger.Checkpoint){
			"hash":     func(c *ledger.Checkpoint) { c.Head.Hash[random.IntN(32)] ^= 1 << random.IntN(8) },
			"position": func(c *ledger.Checkpoint) { c.Head.Position-- },
			"totals":   func(c *ledger.Checkpoint) { c.Totals = append(c.Totals, make([]uint64, 1000)...) },
		} {
			got, used := walk(t, damaging{s, damage}, "l", true, positions...)
			if used > 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("another %s: %d were used", what, used)
			}
		}
	}
	if leaps < 10 {
		t.Errorf("checkpoints were used %d times", leaps)
	}
}
