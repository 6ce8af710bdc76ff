// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/record"
)

// eventually calls f until it succeeds.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// fallen is a primary with an asynchronous standby that is stopped, so that it lacks what is written from then on.
func fallen(t *testing.T) (primary *pgtest.Server, promote func()) {
	t.Helper()
	primary = pgtest.Start(t, pgtest.Config{Synchronous: true})
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()"} {
		if err := primary.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	return primary, func() {
		t.Helper()
		primary.Kill()
		if err := primary.Standby.Start(); err != nil {
			t.Fatal(err)
		}
		if err := primary.Standby.Promote(); err != nil {
			t.Fatal(err)
		}
	}
}

// restorations returns the entries of a ledger that say that some were lost.
func restorations(t *testing.T, s *Store, name string) (lost []ledger.Head) {
	t.Helper()
	records, err := s.Records(name, 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if v, ok := r.Entry.Action.(ledger.Restored); ok {
			lost = append(lost, v.Lost)
		}
	}
	return lost
}

// TestLostEntries: a standby takes over that lacks acknowledged entries. Each daemon that knew of them has the database
// say so before it goes on with the ledger, once altogether, and daemons that start later read it there. What a daemon
// without that memory has written meanwhile hides nothing. Other ledgers go on.
func TestLostEntries(t *testing.T) {
	primary, promote := fallen(t)
	proxy, through := pgtest.NewProxy(t, primary.Database(t))
	var told atomic.Int64
	c := Config{URL: through, Observer: Observer{Lost: func(_ string, _ ledger.Head, err error) {
		if told.Add(1); err != nil {
			t.Errorf("not written: %v", err)
		}
	}}}
	a, b := mustOpen(t, c), mustOpen(t, c)
	sleeper, asleep := pgtest.NewProxy(t, through)
	z := mustOpen(t, Config{URL: asleep})
	for _, s := range []*Store{a, b, z} {
		defer mustClose(t, s)
	}
	write := func(s *Store, name string, from, to int) {
		t.Helper()
		if _, _, err := s.Create(storetest.Genesis(name)); err != nil {
			t.Fatal(err)
		}
		for i := from; i < to; i++ {
			if err := storetest.Charge(s, name, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"kept", "lost", "overtaken"} {
		write(a, name, 0, 1)
	}
	time.Sleep(time.Second) // until the standby has it
	if err := primary.Standby.Stop(); err != nil {
		t.Fatal(err)
	}
	write(a, "lost", 1, 4)
	write(a, "overtaken", 1, 3)
	write(a, "gone", 0, 1)
	write(a, "empty", 0, 0)
	known := map[string]ledger.Head{}
	for _, s := range []*Store{b, z} { // they know what they have shown
		heads, err := s.Heads([]string{"kept", "lost"})
		if err != nil {
			t.Fatal(err)
		}
		known["kept"], known["lost"] = heads[0], heads[1]
	}
	sleeper.CutOff()
	promote()
	proxy.Lead(primary.Standby)
	ignorant := mustOpen(t, Config{URL: through})
	defer mustClose(t, ignorant)
	write(ignorant, "overtaken", 11, 15) // by others: the same entries would not be lost

	for _, s := range []*Store{a, b} {
		for _, name := range []string{"lost", "overtaken", "gone", "kept"} {
			eventually(t, name, func() error { _, err := s.Heads([]string{name}); return err })
			snapshot, err := s.Load(name)
			if err != nil || snapshot.Unreconciled != (name != "kept") {
				t.Fatalf("%s: %+v, %v", name, snapshot.Summary, err)
			}
		}
	}
	if got := restorations(t, ignorant, "lost"); !slices.Equal(got, []ledger.Head{known["lost"]}) {
		t.Errorf("the ledger says that %v were lost; want %v, once", got, known["lost"])
	}
	if got := restorations(t, ignorant, "overtaken"); len(got) != 1 || got[0].Position != 3 {
		t.Errorf("the ledger that has more entries than were lost says %v", got)
	}
	if heads, err := b.Heads([]string{"kept"}); err != nil || heads[0] != known["kept"] {
		t.Errorf("another ledger: %v, %v", heads, err)
	}
	if err := storetest.Charge(b, "kept", 1); err != nil {
		t.Errorf("another ledger: %v", err)
	}
	spec := storetest.Genesis("gone")
	spec.Spec.Owner = "somebody"
	if _, _, err := ignorant.Create(spec); !errors.Is(err, ledger.ErrExists) {
		t.Errorf("a ledger that was lost as a whole begins anew: %v", err)
	}
	if _, _, err := ignorant.Create(storetest.Genesis("empty")); err != nil {
		t.Errorf("a ledger without entries: %v", err)
	}
	var names []string
	lost, err := ignorant.Lost()
	for _, l := range lost {
		names = append(names, l.Ledger)
	}
	if err != nil || !slices.Equal(names, []string{"gone", "lost", "overtaken"}) || told.Load() < 3 {
		t.Errorf("a daemon without memory finds %v, %v; %d were told", lost, err, told.Load())
	}

	reconcile(t, ignorant, "lost", 1)
	sleeper.Mend()
	eventually(t, "the sleeper", func() error { _, err := z.Heads([]string{"lost"}); return err })
	if got := restorations(t, ignorant, "lost"); len(got) != 1 {
		t.Errorf("a daemon that wakes up late says it again: %v", got)
	}
	if lost, err := z.Lost(); err != nil || len(lost) != 2 {
		t.Errorf("after reconciling: %v, %v", lost, err)
	}
}

// TestRowsSetBack: somebody puts older rows in the place of newer ones while daemons run, on the same server. Another
// daemon, which does not know of that, may have written as many entries since as were lost.
func TestRowsSetBack(t *testing.T) {
	t.Run("not written since", func(t *testing.T) { rowsSetBack(t, 0) })
	t.Run("written by another daemon", func(t *testing.T) { rowsSetBack(t, 2) })
}

func rowsSetBack(t *testing.T, since int) {
	c := Config{URL: database(t)}
	s := mustOpen(t, c)
	defer mustClose(t, s)
	if _, _, err := s.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	charge := func(i int) {
		t.Helper()
		if err := storetest.Charge(s, "l", i); err != nil {
			t.Fatal(err)
		}
	}
	charge(0)
	tables := []string{"heads", "tail", "packs", "lanes", "singles", "mechanisms", "counts"}
	for _, table := range tables {
		execute(t, c.URL, "CREATE TABLE saved_"+table+" AS TABLE "+table)
		t.Cleanup(func() { execute(t, c.URL, "DROP TABLE saved_"+table) })
	}
	charge(1)
	charge(2)
	for _, table := range tables {
		execute(t, c.URL, "DELETE FROM "+table)
		execute(t, c.URL, "INSERT INTO "+table+" SELECT * FROM saved_"+table)
	}
	ignorant := mustOpen(t, c)
	defer mustClose(t, ignorant)
	for i := range since {
		now(t, ignorant, "l", 20+i)
	}
	_, err := s.Load("l") // as a daemon does whose commit met another head
	if err != nil {
		t.Fatal(err)
	}
	if heads, err := s.Heads([]string{"l"}); err == nil && heads[0].Position < uint64(since)+2 { // before it is said
		t.Errorf("an answer from entry %d, after the loss of 3 that were acknowledged", heads[0].Position)
	}
	eventually(t, "the ledger", func() error { _, err := s.Heads([]string{"l"}); return err })
	if got := restorations(t, s, "l"); len(got) != 1 || got[0].Position != 3 {
		t.Errorf("the ledger says that %v were lost; want entry 3", got)
	}
}

// reconcile says for the i-th time that what was lost is nothing.
func reconcile(t *testing.T, s *Store, name string, i int) {
	t.Helper()
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.NewBatch(ledger.NewState(snapshot))
	v := ledger.Reconcile{Reason: "a test"}
	d := b.Decide(ledger.Request{Writer: ledger.Writer{Principal: "p", Name: fmt.Sprintf("request/r%d", i)},
		Sequence: 1,
		Digest:   record.Digest(v), Action: v}, ledger.Lane{}, time.Now())
	if d.Outcome != ledger.Accepted {
		t.Fatal(d.Err)
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		t.Fatal(err)
	}
}

// now charges a ledger with the time of this machine, as daemons do.
func now(t *testing.T, s *Store, name string, i int) {
	t.Helper()
	snapshot, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.NewBatch(ledger.NewState(snapshot))
	v := ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1}, Count: uint32(i)}}}
	d := b.Decide(ledger.Request{Writer: ledger.Writer{Principal: ledger.Daemon, Name: fmt.Sprintf("request/%d", i)},
		Sequence: 1,
		Digest:   record.Digest(v), Action: v}, ledger.Lane{}, time.Now())
	if d.Outcome != ledger.Accepted {
		t.Fatal(d.Err)
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		t.Fatal(err)
	}
}

// anew has a store take the server for another start of it at its next connection, as after a failover.
func anew(s *Store) {
	s.losses.surveying.Lock()
	defer s.losses.surveying.Unlock()
	s.losses.server = ""
}

// TestLossesOfTwoFailovers: daemons that were cut off know different heads of a ledger. Those of one loss are told
// once for the newest head, unless a daemon with an earlier one comes first. A head that an earlier failover took is
// told although the later one lost a head with a larger position, because it is of entries that are older.
func TestLossesOfTwoFailovers(t *testing.T) {
	url := database(t)
	asleep := func() (*Store, *pgtest.Proxy) {
		proxy, through := pgtest.NewProxy(t, url)
		s := mustOpen(t, Config{URL: through})
		t.Cleanup(func() { mustClose(t, s) })
		return s, proxy
	}
	sleep := func(s *Store, proxy *pgtest.Proxy) (lost ledger.Head) {
		t.Helper()
		heads, err := s.Heads([]string{"l"})
		if err != nil {
			t.Fatal(err)
		}
		proxy.CutOff()
		return heads[0]
	}
	tables := []string{"heads", "tail", "packs", "lanes", "singles", "mechanisms", "counts", "amendments"}
	save := func() {
		for _, table := range tables {
			execute(t, url, "DROP TABLE IF EXISTS saved_"+table)
			execute(t, url, "CREATE TABLE saved_"+table+" AS TABLE "+table)
		}
	}
	t.Cleanup(func() {
		for _, table := range tables {
			execute(t, url, "DROP TABLE IF EXISTS saved_"+table)
		}
	})
	setBack := func() {
		for _, table := range tables {
			execute(t, url, "DELETE FROM "+table)
			execute(t, url, "INSERT INTO "+table+" SELECT * FROM saved_"+table)
		}
	}
	first, firstProxy := asleep()
	early, earlyProxy := asleep()
	late, lateProxy := asleep()
	s := mustOpen(t, Config{URL: url})
	if _, _, err := s.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	now(t, s, "l", 1)
	save()
	now(t, s, "l", 2)
	now(t, s, "l", 3)
	old := sleep(first, firstProxy)
	mustClose(t, s)
	setBack() // the first failover, of which only a daemon knows that is cut off
	s = mustOpen(t, Config{URL: url})
	now(t, s, "l", 12)
	now(t, s, "l", 13)
	save()
	now(t, s, "l", 14)
	lower := sleep(early, earlyProxy)
	now(t, s, "l", 15)
	higher := sleep(late, lateProxy)
	mustClose(t, s)
	setBack() // the second
	s = mustOpen(t, Config{URL: url})
	defer mustClose(t, s)

	var want []ledger.Head
	wake := func(what string, store *Store, proxy *pgtest.Proxy, lost ...ledger.Head) {
		t.Helper()
		anew(store)
		proxy.Mend()
		eventually(t, what, func() error { _, err := store.Heads([]string{"l"}); return err })
		want = append(want, lost...)
		if got := restorations(t, s, "l"); !slices.Equal(got, want) {
			t.Fatalf("after the daemon that knew %s: the ledger says that %v were lost; want %v", what, got, want)
		}
		if snapshot, err := s.Load("l"); err != nil || snapshot.Unreconciled != (len(lost) > 0) {
			t.Fatalf("after the daemon that knew %s: unreconciled %v, %v", what, snapshot.Unreconciled, err)
		}
		if len(lost) > 0 {
			reconcile(t, s, "l", len(want))
		}
	}
	wake("an entry of the second loss", early, earlyProxy, lower)
	wake("a later one", late, lateProxy, higher)
	wake("one of the first loss", first, firstProxy, old)
}

// TestLostDataset: the record of a dataset is lost as a whole. Daemons that start later find a note of it, so that
// nobody registers the dataset anew with nothing charged.
func TestLostDataset(t *testing.T) {
	c := Config{URL: database(t)}
	s := mustOpen(t, c)
	defer mustClose(t, s)
	g := storetest.Genesis("dataset:survey")
	g.Spec.DatasetID = "survey"
	g.Spec.Dataset = &ledger.Dataset{MaxRecords: 1, EnforcedBy: "a key", BudgetOf: "dataset:other"}
	if _, _, err := s.Create(g); err != nil {
		t.Fatal(err)
	}
	now(t, s, g.Spec.Name, 1)
	heads, err := s.Heads([]string{g.Spec.Name})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"ledgers", "heads", "tail", "packs", "lanes", "singles", "mechanisms", "counts"} {
		execute(t, c.URL, "DELETE FROM "+table)
	}
	execute(t, c.URL, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
		"WHERE datname = current_database() AND pid <> pg_backend_pid()")
	anew(s)
	other := mustOpen(t, c)
	defer mustClose(t, other)
	eventually(t, "the note", func() error {
		if _, err := s.Heads([]string{g.Spec.Name}); err != nil {
			return err
		}
		if lost, err := other.LostWhole(g.Spec.Name); err != nil || lost != heads[0] {
			return fmt.Errorf("%v, %v; want %v", lost, err, heads[0])
		}
		return nil
	})
	lost, err := other.Lost()
	if err != nil || len(lost) != 1 || lost[0].Ledger != g.Spec.Name {
		t.Errorf("the store tells of %v, %v", lost, err)
	}
	if lost, err := other.LostWhole("dataset:other"); err != nil || lost != (ledger.Head{}) {
		t.Errorf("another dataset: %v, %v", lost, err)
	}
}
