// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// knownOf returns these heads of a turn's ledgers.
func knownOf(heads []ledger.Head) func(int) ledger.Head {
	return func(i int) ledger.Head { return heads[i] }
}

// In its turn a daemon is told what Heads and Records say, of merged entries as of others; what nobody knows yet, or
// more than is asked for, it is not told.
func TestInTurn(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{URL: database(t)})
	defer mustClose(t, s)
	charged(t, s, "a", 70)
	charged(t, s, "b", 5)
	merge(t, s)
	charged(t, s, "c", 0)
	for range 3 {
		if err := storetest.Charge(s, "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"a", "none", "b", "c"}
	want, err := s.Heads(names)
	if err != nil {
		t.Fatal(err)
	}
	first := func(name string, position uint64) ledger.Head {
		found, err := s.Records(name, position, 1)
		if err != nil {
			t.Fatal(err)
		}
		return ledger.Head{Position: position, Hash: found[0].Hash}
	}
	for _, c := range []struct {
		known ledger.Head // of a
		limit int
		newer int
	}{{first("a", 65), 1000, 8}, {first("a", 65), 8, 8}, {first("a", 65), 7, 0}, {first("a", 1), 1000, 72},
		{want[0], 1000, 0}, {ledger.Head{}, 1000, 0}} {
		told := false
		hashes, err := s.InTurn(ledger.Turn{Ledgers: names, Limit: c.limit,
			Known: knownOf([]ledger.Head{c.known, {}, first("b", 5), {}}),
			Decide: func(heads []ledger.Head, newer [][]ledger.Record) []ledger.Proposal {
				told = true
				if !reflect.DeepEqual(heads, want) {
					t.Errorf("heads: %v; want %v", heads, want)
				}
				var records []ledger.Record
				if c.newer > 0 {
					if records, err = s.Records("a", c.known.Position+1, c.newer); err != nil {
						t.Error(err)
					}
				}
				if !reflect.DeepEqual(newer, [][]ledger.Record{records, nil, nil, nil}) {
					t.Errorf("from %d, at most %d: %d records; want %d", c.known.Position, c.limit, len(newer[0]),
						c.newer)
				}
				return nil
			}})
		if err != nil || len(hashes) != 0 || !told {
			t.Errorf("%v, %v", hashes, err)
		}
	}
	execute(t, s.config.URL, "UPDATE tail SET value = set_byte(value, 9, get_byte(value, 9) # 1) WHERE last = 72")
	_, err = s.InTurn(ledger.Turn{Ledgers: names, Limit: 1000,
		Known: knownOf([]ledger.Head{first("a", 70), {}, {}, {}}),
		Decide: func([]ledger.Head, [][]ledger.Record) []ledger.Proposal {
			t.Error("decided on a damaged ledger")
			return nil
		}})
	if !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("a damaged row: %v", err)
	}
}

// Nobody writes to a ledger in another's turn. If its session is lost, the ledger is free, and the turn is had again.
func TestTurnThatLosesItsSession(t *testing.T) {
	t.Parallel()
	c := Config{URL: database(t)}
	a, b := mustOpen(t, c), mustOpen(t, c)
	defer mustClose(t, a)
	defer mustClose(t, b)
	charged(t, a, "l", 1)
	var other sync.WaitGroup
	var turns []uint64 // the heads' positions
	hashes, err := a.InTurn(ledger.Turn{Ledgers: []string{"l"}, Limit: 10, Known: knownOf(make([]ledger.Head, 1)),
		Decide: func(heads []ledger.Head, _ [][]ledger.Record) []ledger.Proposal {
			if turns = append(turns, heads[0].Position); len(turns) == 1 {
				other.Go(func() {
					if err := storetest.Charge(b, "l", 1); err != nil {
						t.Error(err)
					}
				})
				const waits = "SELECT 1 / count(*) FROM pg_stat_activity WHERE datname = current_database() AND " +
					"wait_event_type = 'Lock'"
				eventually(t, "the other one waits", func() error {
					_, err := b.pool.Exec(t.Context(), waits)
					return err
				})
				execute(t, c.URL, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "+
					"current_database() AND state = 'idle in transaction'")
				other.Wait()
			}
			return []ledger.Proposal{proposal(t, b, "l", audittest.Writer(2))}
		}})
	if err != nil || len(hashes) != 1 || !reflect.DeepEqual(turns, []uint64{1, 2}) {
		t.Errorf("%d hashes, %v, in turns at %v; want them at 1 and 2", len(hashes), err, turns)
	}
	if heads, err := a.Heads([]string{"l"}); err != nil || heads[0].Position != 3 {
		t.Errorf("%v, %v; want three entries", heads, err)
	}
}
