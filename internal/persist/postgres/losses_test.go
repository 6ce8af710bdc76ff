package postgres

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
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
	write(ignorant, "overtaken", 1, 5)

	for _, s := range []*Store{a, b} {
		for _, name := range []string{"lost", "overtaken", "gone", "kept"} {
			eventually(t, name, func() error { _, err := s.Heads([]string{name}); return err })
			snapshot, _, err := s.Load(name)
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

	reconcile(t, ignorant, "lost")
	sleeper.Mend()
	eventually(t, "the sleeper", func() error { _, err := z.Heads([]string{"lost"}); return err })
	if got := restorations(t, ignorant, "lost"); len(got) != 1 {
		t.Errorf("a daemon that wakes up late says it again: %v", got)
	}
	if lost, err := z.Lost(); err != nil || len(lost) != 2 {
		t.Errorf("after reconciling: %v, %v", lost, err)
	}
}

// TestRowsSetBack: somebody puts older rows in the place of newer ones while daemons run, on the same server.
func TestRowsSetBack(t *testing.T) {
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
	tables := []string{"heads", "packs", "lanes", "mechanisms", "counts"}
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
	_, _, err := s.Load("l") // as a daemon does whose commit met another head
	if err != nil {
		t.Fatal(err)
	}
	if heads, err := s.Heads([]string{"l"}); err == nil && heads[0].Position == 1 {
		t.Errorf("an answer from entry 1, after 3 were acknowledged")
	}
	eventually(t, "the ledger", func() error { _, err := s.Heads([]string{"l"}); return err })
	if got := restorations(t, s, "l"); len(got) != 1 || got[0].Position != 3 {
		t.Errorf("the ledger says that %v were lost; want entry 3", got)
	}
}

// reconcile says that what was lost is nothing.
func reconcile(t *testing.T, s *Store, name string) {
	t.Helper()
	snapshot, tail, err := s.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	b := ledger.NewBatch(ledger.NewState(snapshot, tail))
	v := ledger.Reconcile{Reason: "a test"}
	d := b.Decide(ledger.Request{Writer: ledger.Writer{Principal: "p", Name: "request/r"}, Sequence: 1,
		Digest: record.Digest(v), Action: v}, ledger.Lane{}, time.Now())
	if d.Outcome != ledger.Accepted {
		t.Fatal(d.Err)
	}
	if _, err := s.Append([]ledger.Proposal{b.Proposal()}); err != nil {
		t.Fatal(err)
	}
}
