// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// swept sweeps a database once and returns what it found damaged.
func swept(t *testing.T, s *Store) (damage []error, bytes int64) {
	t.Helper()
	for place, steps := []byte(nil), 0; ; steps++ {
		next, read, err := s.Sweep(t.Context(), place)
		bytes += read
		switch {
		case errors.Is(err, ledger.ErrDamaged):
			damage = append(damage, err)
		case err != nil:
			t.Fatal(err)
		}
		if len(next) == 0 {
			return damage, bytes
		}
		if string(next) == string(place) || steps > 10_000 {
			t.Fatalf("after %d steps it is at %x, as before", steps, next)
		}
		place = next
	}
}

// Each kind of damage to a row that is old, and that nobody asks for, is found with its ledger's name; the other
// ledgers are found whole, and go on.
func TestSweepFindsDamage(t *testing.T) {
	t.Parallel()
	const flip = "value = set_byte(value, length(value) - 1, get_byte(value, length(value) - 1) # 1)"
	const genesis = "genesis = set_byte(genesis, length(genesis) - 1, get_byte(genesis, length(genesis) - 1) # 1)"
	const lanes = "number = $1"
	s := mustOpen(t, Config{URL: database(t)})
	defer mustClose(t, s)
	kinds := map[string]string{ // of the ledger $1; $2 is another one, of the same content
		"old entries":       "UPDATE tail SET " + flip + " WHERE number = $1 AND last = 7",
		"old entries gone":  "DELETE FROM tail WHERE number = $1 AND last = 7",
		"first entry gone":  "DELETE FROM tail WHERE number = $1 AND last = 1",
		"newest entry gone": "DELETE FROM tail WHERE number = $1 AND last = 90",
		"all entries gone":  "DELETE FROM tail WHERE number = $1",
		"another's entries": "UPDATE tail p SET value = q.value FROM tail q WHERE p.number = $1 AND q.number = $2 " +
			"AND p.last = 7 AND q.last = 7",
		"head":                 "UPDATE heads SET " + flip + " WHERE number = $1",
		"head gone":            "DELETE FROM heads WHERE number = $1",
		"genesis":              "UPDATE ledgers SET " + genesis + " WHERE number = $1",
		"ledger gone":          "DELETE FROM ledgers WHERE number = $1",
		"name":                 "UPDATE ledgers SET name = 'other' WHERE number = $1",
		"lane":                 "UPDATE lanes SET " + flip + " WHERE number = $1",
		"lane gone":            "DELETE FROM lanes WHERE number = $1",
		"request key":          "UPDATE singles SET " + flip + " WHERE number = $1",
		"request key gone":     "DELETE FROM singles WHERE number = $1",
		"indexed entry":        "UPDATE sequences SET " + flip + " WHERE " + lanes,
		"indexed entry gone":   "DELETE FROM sequences WHERE " + lanes,
		"mechanism":            "UPDATE mechanisms SET " + flip + " WHERE number = $1",
		"mechanism gone":       "DELETE FROM mechanisms WHERE number = $1 AND index = 0",
		"count of a mechanism": "UPDATE counts SET " + flip + " WHERE number = $1",
	}
	request := func(name string) {
		t.Helper()
		if _, err := s.Append([]ledger.Proposal{proposal(t, s, name, audittest.Writer(1000))}); err != nil {
			t.Fatal(err)
		}
	}
	fill := func(name string) {
		t.Helper()
		if _, _, err := s.Create(storetest.Genesis(name)); err != nil {
			t.Fatal(err)
		}
		for i := range 90 { // the lane of number 0 has more than 64
			if i >= 12 {
				i = 0
			}
			if err := storetest.Charge(s, name, i); err != nil {
				t.Fatal(err)
			}
		}
		request(name)
	}
	for _, whole := range []string{"aa-whole", "zz-whole", "empty"} {
		if whole != "empty" {
			fill(whole)
		} else if _, _, err := s.Create(storetest.Genesis(whole)); err != nil {
			t.Fatal(err)
		}
	}
	for what := range kinds {
		fill(damagedName(what))
	}
	if damage, bytes := swept(t, s); len(damage) > 0 || bytes == 0 {
		t.Fatalf("before anything is damaged: %v, %d bytes", damage, bytes)
	}
	// A daemon knows the numbers of ledgers that it has charged.
	for what, sql := range kinds {
		args := []any{s.known.names[damagedName(what)]}
		if strings.Contains(sql, "$2") {
			args = append(args, s.known.names["aa-whole"])
		}
		execute(t, s.config.URL, sql, args...)
	}
	damage, _ := swept(t, s)
	if len(damage) != len(kinds) {
		t.Errorf("%d ledgers are damaged, %d were found", len(kinds), len(damage))
	}
	for what := range kinds {
		begins := "ledger " + damagedName(what) + ":"
		switch what {
		case "ledger gone":
			begins = fmt.Sprintf("ledger number %d:", s.known.names[damagedName(what)])
		case "name":
			begins = "ledger other:"
		}
		found := false
		for _, err := range damage {
			found = found || strings.HasPrefix(err.Error(), begins)
		}
		if !found {
			t.Errorf("%s: not found in %v", what, damage)
		}
	}
	for _, name := range []string{"aa-whole", "zz-whole", "empty"} {
		if err := storetest.Charge(s, name, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A sweep of ledgers that two daemons charge and merge meanwhile finds nothing, in many short logs and in a long
// one; and who reads page after page gets every entry.
func TestSweepWhileServing(t *testing.T) {
	t.Parallel()
	c := Config{URL: database(t), cold: eager}
	s, other := mustOpen(t, c), mustOpen(t, c)
	defer mustClose(t, s)
	defer mustClose(t, other)
	var writers sync.WaitGroup
	done := make(chan struct{})
	for i := range 6 {
		store, name := []*Store{s, other}[i%2], fmt.Sprint("l", i)
		if _, _, err := s.Create(storetest.Genesis(name)); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if err := storetest.Charge(store, name, n%12); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 20 {
		if damage, _ := swept(t, s); len(damage) > 0 {
			t.Error(damage)
			break
		}
		for next := uint64(1); ; { // a reader of pages
			page, err := s.Records("l0", next, 7)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			next += uint64(len(page))
		}
	}
	close(done)
	writers.Wait()
}

// A place that is beyond a ledger's end, as after a failover that has lost entries, is no damage.
func TestSweepGoesOnAfterALoss(t *testing.T) {
	s := mustOpen(t, Config{URL: database(t)})
	defer mustClose(t, s)
	if _, _, err := s.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := storetest.Charge(s, "l", i); err != nil {
			t.Fatal(err)
		}
	}
	first, _, err := s.Sweep(t.Context(), nil)
	if err != nil || len(first) == 0 {
		t.Fatal(first, err)
	}
	lost := append([]byte(nil), first...)
	lost[8] = 0    // not at the end yet
	lost[16] += 10 // and ten entries further
	for place, n := lost, 0; len(place) > 0; n++ {
		next, _, err := s.Sweep(t.Context(), place)
		if err != nil || n > 10 {
			t.Fatal(n, err)
		}
		place = next
	}
}
