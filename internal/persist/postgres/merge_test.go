// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/audit/audittest"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
)

// count asks a database for one number.
func count(t testing.TB, s *Store, sql string) (n int) {
	t.Helper()
	if err := s.pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// charged makes a ledger with entries of ten lanes, and one with a request ID after every ten.
func charged(t testing.TB, s *Store, name string, n int) {
	t.Helper()
	if _, _, err := s.Create(storetest.Genesis(name)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		w := i % 10
		if w == 9 {
			w = 1000 + i // a request ID
		}
		if _, err := s.Append([]ledger.Proposal{proposal(t, s, name, audittest.Writer(w))}); err != nil {
			t.Fatal(err)
		}
	}
}

// What is merged are the same entries in few rows, however often they are merged in the meantime; and what follows is
// merged with what is not full yet.
func TestMerge(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{URL: database(t), cold: cold{every: time.Hour}})
	defer mustClose(t, s)
	for n := range 3 {
		name := fmt.Sprint("l", n)
		charged(t, s, name, 70)
		if n > 0 {
			merge(t, s)
		}
		for i := range 70 {
			if err := storetest.Charge(s, name, i%7); err != nil {
				t.Fatal(err)
			}
			if n == 2 {
				merge(t, s)
			}
		}
		before, err := s.Records(name, 1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		merge(t, s)
		after, err := s.Records(name, 1, 1000)
		if err != nil || len(after) != 140 {
			t.Fatalf("%d entries, %v", len(after), err)
		}
		for i, r := range after {
			if r.Hash != before[i].Hash || string(r.Raw) != string(before[i].Raw) {
				t.Fatalf("entry %d is another one", i+1)
			}
			one, err := s.RecordOf(name, r.Entry.Writer, r.Entry.Sequence)
			if err != nil || one.Hash != r.Hash {
				t.Fatalf("entry %d by its writer: %v", i+1, err)
			}
		}
		rows, left := count(t, s, "SELECT count(*) FROM packs"), count(t, s, "SELECT count(*) FROM tail")
		if left > 0 ||
			rows != (n+1)*((140+packs.MaxEntries-1)/packs.MaxEntries) {
			t.Errorf("%d ledgers: %d rows, and %d that are not merged", n+1, rows, left)
		}
	}
	if damage, _ := swept(t, s); len(damage) > 0 {
		t.Error(damage)
	}
}

// Rows that are not cold stay, also where later ones of their ledger are.
func TestMergeColdOnly(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{URL: database(t), cold: usually})
	defer mustClose(t, s)
	for _, name := range []string{"idle", "few", "many", "mixed", "hot"} {
		charged(t, s, name, 40)
	}
	for sql, names := range map[string][]string{
		"written = now() - interval '1 hour'":                     {"idle"},
		"written = now() - interval '2 minutes' WHERE last > 20":  {"mixed"},
		"written = now() - interval '2 minutes' WHERE last <= 38": {"many"},
		"written = now() - interval '2 minutes' WHERE last <= 10": {"few"},
	} {
		set, where := sql, " WHERE "
		if len(sql) > 40 {
			where = " AND "
		}
		execute(t, s.config.URL, "UPDATE tail SET "+set+where+"number = $1", s.known.names[names[0]])
	}
	merge(t, s)
	for name, want := range map[string]int{"idle": 0, "many": 2, "few": 40, "mixed": 40, "hot": 40} {
		got := count(t, s, fmt.Sprint("SELECT count(*) FROM tail WHERE number = ", s.known.names[name]))
		if got != want {
			t.Errorf("%s: %d rows are not merged; want %d", name, got, want)
		}
	}
}

// Whoever watches is told of each pass that fails, and of the next one that does not.
func TestMergeFails(t *testing.T) {
	t.Parallel()
	passes := make(chan error)
	url := database(t)
	s := mustOpen(t, Config{URL: url, cold: cold{every: time.Millisecond, many: 1, bytes: 1, idle: time.Hour},
		Observer: Observer{Merged: func(err error) {
			select {
			case passes <- err:
			case <-t.Context().Done():
			}
		}}})
	defer mustClose(t, s)
	charged(t, s, "l", 10)
	until := func(what string, wanted func(error) bool) {
		t.Helper()
		for range 1000 {
			if wanted(<-passes) {
				return
			}
		}
		t.Errorf("no pass that %s", what)
	}
	execute(t, url, "ALTER TABLE packs RENAME TO away")
	if err := storetest.Charge(s, "l", 1); err != nil {
		t.Fatal(err)
	}
	until("failed", func(err error) bool { return err != nil })
	execute(t, url, "ALTER TABLE away RENAME TO packs")
	until("succeeded", func(err error) bool { return err == nil })
	go func() {
		for range passes { // until the store is closed
		}
	}()
}

// A fault at each message of a merge leaves all entries as they were, and the next one merges them: it ends the session
// that may hold them.
func TestFaultAtEveryMessageOfAMerge(t *testing.T) {
	t.Parallel()
	url := database(t)
	proxy, through := pgtest.NewProxy(t, url)
	s, whole := mustOpen(t, hasty(through)), mustOpen(t, patient(url))
	defer mustClose(t, s)
	defer mustClose(t, whole)
	charged(t, whole, "l", 100)
	charged(t, whole, "m", 10)
	entries, o := 110, orphan(0)
	try := func(fault pgtest.Fault, at int) (messages int) {
		for s.Ready() != nil {
			pause(t.Context(), retryEvery)
		}
		for _, name := range []string{"l", "m"} {
			if err := storetest.Charge(whole, name, at%7); err != nil {
				t.Fatal(err)
			}
			entries++
		}
		proxy.Arm(fault, at)
		_, _, err := s.mergeAfter(0, &o)
		if messages = proxy.Disarm(); isBroken(err) {
			s.pool.Reset()
		}
		eventually(t, fmt.Sprintf("merging after fault %v at message %d", fault, at), func() error {
			if _, _, err := s.mergeAfter(0, &o); err != nil {
				return err
			}
			if left := count(t, whole, "SELECT count(*) FROM tail"); left > 0 {
				return fmt.Errorf("%d rows are not merged", left)
			}
			return nil
		})
		if damage, _ := swept(t, whole); len(damage) > 0 {
			t.Fatalf("fault %v at message %d: %v", fault, at, damage)
		}
		l, err := whole.Records("l", 1, 10_000)
		m, errM := whole.Records("m", 1, 10_000)
		if err != nil || errM != nil || len(l)+len(m) != entries {
			t.Fatalf("fault %v at message %d: %d entries; want %d; %v, %v", fault, at, len(l)+len(m), entries,
				err, errM)
		}
		return messages
	}
	n := 0
	for range 3 {
		n = try(pgtest.Cut, 0) // the statements are prepared
	}
	if n < 10 {
		t.Fatalf("a merge has %d messages", n)
	}
	for fault, step := range faultSteps() {
		if fault == pgtest.Silence && testing.Short() {
			step = n / 2
		}
		for at := 1; at <= n; at += step {
			try(fault, at)
		}
	}
}

// A commit whose outcome is unknown is found after its entry was merged with others, and one that was not written is
// not found in what others have written in its place. If the entries are damaged nobody knows.
func TestResolveMerged(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := mustOpen(t, Config{URL: url})
	defer mustClose(t, s)
	charged(t, s, "l", 20)
	try := func(end func(*attempt, *pgx.Conn) error) *attempt {
		t.Helper()
		p, err := storetest.Proposed(s, "l", 1)
		if err != nil {
			t.Fatal(err)
		}
		a := &attempt{Store: s, ops: []*operation{{batch: []ledger.Proposal{p}}}}
		if err := s.with(t.Context(), func(ctx context.Context, c *pgx.Conn) error {
			if err := a.lock(ctx, c); err != nil {
				return err
			}
			a.decide(a.ops[0])
			for _, b := range a.books {
				if err := errors.Join(a.ops[0].err, a.writes.book(b)); err != nil {
					return err
				}
			}
			return end(a, c)
		}); err != nil {
			t.Fatal(err)
		}
		return a
	}
	lost := try(func(_ *attempt, c *pgx.Conn) error { rollback(c); return nil })
	written := try(func(a *attempt, c *pgx.Conn) error { return a.finish(t.Context(), c) })
	merge(t, s)
	for i, a := range []*attempt{lost, written} {
		outcome, err := a.resolve(nil)
		if want := []Outcome{NotCommitted, Committed}[i]; outcome != want || err != nil {
			t.Errorf("%s, %v; want %s", outcome, err, want)
		}
	}
	execute(t, url, "UPDATE packs SET value = set_byte(value, 9, get_byte(value, 9) # 1)")
	if outcome, err := written.resolve(nil); outcome != Unresolved || !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("of a damaged pack: %s, %v", outcome, err)
	}
}

func damagedName(what string) string {
	return "damaged-" + strings.NewReplacer(" ", "-", "'", "-").Replace(what)
}

// Damage of merged entries, and a row that is there twice, are found by a sweep with the ledger's name. Merging goes on
// with the others, and makes nothing of what is damaged.
func TestSweepFindsMergedDamage(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Config{URL: database(t), cold: cold{every: time.Hour}})
	defer mustClose(t, s)
	const flip = "value = set_byte(value, length(value) - 1, get_byte(value, length(value) - 1) # 1)"
	const copied = "INSERT INTO tail (number, last, value) SELECT number, last, value FROM early WHERE number = $1 AND "
	kinds := map[string]string{
		"byte":          "UPDATE packs SET " + flip + " WHERE number = $1 AND last = 64",
		"newest byte":   "UPDATE packs SET " + flip + " WHERE number = $1 AND last = 130",
		"gone":          "DELETE FROM packs WHERE number = $1 AND last = 64",
		"middle gone":   "DELETE FROM packs WHERE number = $1 AND last = 128",
		"newest gone":   "DELETE FROM packs WHERE number = $1 AND last = 130",
		"unmerged gone": "DELETE FROM tail WHERE number = $1 AND last = 132",
		"unmerged byte": "UPDATE tail SET " + flip + " WHERE number = $1 AND last = 132",
		"moved":         "UPDATE packs SET last = 63 WHERE number = $1 AND last = 64",
		"another's": "UPDATE packs p SET value = q.value FROM packs q WHERE p.number = $1 AND q.number = $2 " +
			"AND p.last = 64 AND q.last = 64",
		"merged and not":    copied + "last = 7",
		"newest twice":      copied + "last = 130",
		"end of a pack too": copied + "last = 64",
		"position":          "UPDATE heads SET position = position - 1 WHERE number = $1",
	}
	names := []string{"aa-whole", "zz-whole"}
	for what := range kinds {
		names = append(names, damagedName(what))
	}
	execute(t, s.config.URL, "CREATE TABLE early AS TABLE tail")
	t.Cleanup(func() { execute(t, s.config.URL, "DROP TABLE early") })
	for _, name := range names {
		charged(t, s, name, 130)
	}
	execute(t, s.config.URL, "INSERT INTO early SELECT * FROM tail")
	merge(t, s)
	for _, name := range names {
		for i := range 4 {
			if err := storetest.Charge(s, name, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	if damage, _ := swept(t, s); len(damage) > 0 {
		t.Fatal(damage)
	}
	for what, sql := range kinds {
		args := []any{s.known.names[damagedName(what)]}
		if what == "another's" {
			args = append(args, s.known.names["aa-whole"])
		}
		execute(t, s.config.URL, sql, args...)
	}
	find := func() {
		t.Helper()
		damage, _ := swept(t, s)
		text := fmt.Sprint(damage)
		if len(damage) != len(kinds) {
			t.Errorf("%d ledgers are damaged, %d were found: %s", len(kinds), len(damage), text)
		}
	}
	find()
	merge(t, s)
	find()
	for _, name := range []string{"aa-whole", "zz-whole"} {
		if err := storetest.Charge(s, name, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := count(t, s, fmt.Sprint("SELECT count(*) FROM tail WHERE number = ", s.known.names[name])); n != 1 {
			t.Errorf("%s: %d rows are not merged", name, n)
		}
	}
}
