// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/storetest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// hasty are time limits for tests in which somebody does not answer.
func hasty(url string) Config {
	return Config{URL: url, ReadLimit: 2 * time.Second, CommitLimit: 300 * time.Millisecond,
		Abandoned: 300 * time.Millisecond}
}

// patient are time limits that a slow machine does not come to.
func patient(url string) Config {
	return Config{URL: url, ReadLimit: time.Minute, CommitLimit: time.Minute, Abandoned: time.Minute}
}

// TestFaultAtEveryMessage cuts or silences the connection before each message of a commit, in both
// directions. The commit then happens once or not at all, in all of its ledgers or in none, and is answered
// with the truth: it is written exactly if Append says so.
func TestFaultAtEveryMessage(t *testing.T) {
	t.Parallel()
	t.Run("one ledger", func(t *testing.T) { faultsOfCommits(t, "l") })
	t.Run("several ledgers, one of them new", func(t *testing.T) { faultsOfCommits(t, "l", "m", "n", "") })
}

// faultsOfCommits makes faults in commits to ledgers. The name "" stands for a ledger that each commit makes.
func faultsOfCommits(t *testing.T, ledgers ...string) {
	t.Parallel()
	url := database(t)
	proxy, through := pgtest.NewProxy(t, url)
	merging := patient(url)
	merging.cold = eager
	observer := mustOpen(t, merging)
	defer mustClose(t, observer)
	for _, name := range ledgers {
		if name == "" {
			continue
		}
		if _, _, err := observer.Create(storetest.Genesis(name)); err != nil {
			t.Fatal(err)
		}
	}
	var outcomes sync.Map // Outcome → true
	c := hasty(through)
	c.Observer.Unknown = func(o Outcome) { outcomes.Store(o, true) }
	s := mustOpen(t, c)
	defer mustClose(t, s)
	tries := 0
	try := func(fault pgtest.Fault, at int) (messages int) {
		for s.Ready() != nil {
			time.Sleep(10 * time.Millisecond)
		}
		tries++
		var batch []ledger.Proposal
		var names []string
		var want []ledger.Head // before
		for _, name := range ledgers {
			p := ledger.Proposal{Ledger: fmt.Sprint("new", tries)}
			if name == "" {
				g := storetest.Genesis(p.Ledger)
				p.Genesis = &g
			} else {
				var err error
				if p, err = storetest.Proposed(observer, name, at%3); err != nil {
					t.Fatal(err)
				}
			}
			batch, names, want = append(batch, p), append(names, p.Ledger), append(want, p.Expected)
		}
		proxy.Arm(fault, at)
		_, err := s.Append(batch)
		messages = proxy.Disarm()
		heads, e := observer.Heads(names)
		if e != nil {
			t.Fatal(e)
		}
		if err != nil && !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("fault %v at message %d: %v", fault, at, err)
		}
		for i, before := range want {
			written := heads[i].Position == before.Position+1
			if batch[i].Genesis != nil {
				written = heads[i] != (ledger.Head{})
			}
			if written != (err == nil) || !written && heads[i] != before {
				t.Errorf("fault %v at message %d: Append = %v, and the head of %s went from %d to %d", fault, at, err,
					names[i], before.Position, heads[i].Position)
			}
		}
		return messages
	}
	for range 3 {
		try(pgtest.Cut, 0) // the statements are prepared
	}
	n := try(pgtest.Cut, 0)
	if n < 20 {
		t.Fatalf("a commit has %d messages", n)
	}
	for fault, step := range faultSteps() {
		for at := 1; at <= n; at += step {
			if try(fault, at); t.Failed() {
				return
			}
		}
	}
	for _, o := range []Outcome{Committed, NotCommitted} {
		if _, ok := outcomes.Load(o); !ok {
			t.Errorf("no commit's outcome was unknown and found to be %q", o)
		}
	}
	for _, name := range ledgers {
		if name == "" {
			continue
		}
		if _, err := observer.Records(name, 1, 10000); err != nil {
			t.Error(err)
		}
	}
}

// faultSteps says at every how many messages each fault is made.
func faultSteps() map[pgtest.Fault]int {
	// A silence takes a second to be noticed.
	steps := map[pgtest.Fault]int{pgtest.Cut: 1, pgtest.Silence: 5 * testaid.Every(4)}
	if allFaults() {
		steps[pgtest.Silence] = 1
	}
	return steps
}

// allFaults asks for every fault at every message, which takes long.
func allFaults() bool { return os.Getenv("ACCOUNTANT_FAULTS") == "all" }

// TestFaultAtEveryWrite has every kind of write of the contract meet a connection that is cut, silenced or
// terminated at each of its messages, in both directions. The store finds out what became of the write.
func TestFaultAtEveryWrite(t *testing.T) {
	t.Parallel()
	type behind struct {
		proxy *pgtest.Proxy
		url   string // of the same database
	}
	var proxies, outcomes sync.Map // connection string → behind; Outcome → true
	of := func(s ledger.Store) behind {
		found, _ := proxies.Load(s.(*Store).config.URL)
		return found.(behind)
	}
	h := harness(Config{})
	h.FindsOut = true
	h.Look = func(t *testing.T, s ledger.Store) ledger.Store {
		c := patient(of(s).url)
		c.cold = eager
		look := mustOpen(t, c)
		t.Cleanup(func() { mustClose(t, look) })
		return look
	}
	opened := func(limits func(url string) Config) func(*testing.T) ledger.Store {
		return func(t *testing.T) ledger.Store {
			url := database(t)
			proxy, through := pgtest.NewProxy(t, url)
			proxies.Store(through, behind{proxy, url})
			c := limits(through)
			c.Observer.Unknown = func(o Outcome) { outcomes.Store(o, true) }
			return mustOpen(t, c)
		}
	}
	// arm makes a fault at a message that is chosen for each step.
	arm := func(set func(p *pgtest.Proxy, step int) (at int)) func(*testing.T, ledger.Store, int) func() bool {
		return func(_ *testing.T, written ledger.Store, step int) func() bool {
			s, proxy := written.(*Store), of(written).proxy
			at := set(proxy, step)
			return func() (came bool) {
				came = proxy.Disarm() >= at
				for s.Ready() != nil { // by itself it comes back
					time.Sleep(10 * time.Millisecond)
				}
				return came
			}
		}
	}
	// A write has some 50 to 150 messages, and takes three seconds if there is silence.
	sample := map[pgtest.Fault]int{pgtest.Cut: 61, pgtest.Terminate: 61, pgtest.Silence: 307}
	if allFaults() {
		sample = map[pgtest.Fault]int{pgtest.Cut: 1, pgtest.Terminate: 3, pgtest.Silence: 11}
	}
	at := func(fault pgtest.Fault) storetest.Fault {
		var writes atomic.Int64 // each of them begins at another message
		every := sample[fault] * testaid.Every(3)
		return storetest.Fault{Name: fault.String(), Arm: arm(func(p *pgtest.Proxy, step int) int {
			at := (step-1)*every + 1 + int(writes.Add(37))%every
			p.Arm(fault, at)
			return at
		})}
	}
	behindCommit := storetest.Fault{Name: "cut behind the commit", Arm: arm(func(p *pgtest.Proxy, step int) int {
		if step > 1 { // it has one
			p.Arm(pgtest.Cut, 0)
			return math.MaxInt
		}
		p.ArmCommitted(pgtest.Cut)
		return 1
	})}
	// A store that is cut off knows it at once, however slow the machine is. Silence it knows by its limits.
	h.Open, h.Faults = opened(patient), []storetest.Fault{at(pgtest.Cut), behindCommit}
	if !testing.Short() { // a store that is terminated is cut off, and hears why: TestTerminated
		h.Faults = append(h.Faults, at(pgtest.Terminate))
	}
	t.Run("cut off", func(t *testing.T) { storetest.RunFaults(t, h) })
	h.Open, h.Faults = opened(hasty), []storetest.Fault{at(pgtest.Silence)}
	t.Run("silent", func(t *testing.T) {
		if testing.Short() {
			t.Skip("each silence takes seconds; commits and questions meet some in other tests")
		}
		storetest.RunFaults(t, h)
	})
	if _, ok := outcomes.Load(Committed); !ok {
		t.Error("no write's outcome was unknown and found to be that it was committed")
	}
	if _, ok := outcomes.Load(NotCommitted); !ok && allFaults() {
		t.Error("no write's outcome was unknown and found to be that it was not committed")
	}
}

// TestFaultInHeads cuts or silences the connection before each message of a question's round trip. The question
// then gets the heads that were acknowledged before it, through whichever daemon, or is told that it cannot be
// answered; and the next one is answered.
func TestFaultInHeads(t *testing.T) {
	t.Parallel()
	url := database(t)
	proxy, through := pgtest.NewProxy(t, url)
	writer := mustOpen(t, Config{URL: url})
	defer mustClose(t, writer)
	names := []string{"l", "m"}
	for _, name := range names {
		if _, _, err := writer.Create(storetest.Genesis(name)); err != nil {
			t.Fatal(err)
		}
	}
	c := hasty(through)
	c.ReadLimit = 500 * time.Millisecond
	s := mustOpen(t, c)
	defer mustClose(t, s)
	charged, answered, unanswered := uint64(0), 0, 0
	try := func(fault pgtest.Fault, at int) (messages int) {
		for s.Ready() != nil {
			time.Sleep(10 * time.Millisecond)
		}
		for _, name := range names {
			if err := storetest.Charge(writer, name, 0); err != nil {
				t.Fatal(err)
			}
		}
		charged++
		proxy.Arm(fault, at)
		heads, err := s.Heads(names)
		messages = proxy.Disarm()
		switch {
		case errors.Is(err, ledger.ErrUnavailable):
			unanswered++
		case err != nil || heads[0].Position != charged || heads[1].Position != charged:
			t.Errorf("fault %v at message %d: heads %+v, %v; %d charges were acknowledged", fault, at, heads, err,
				charged)
		default:
			answered++
		}
		return messages
	}
	n := 0
	for tries := 0; answered < 4; tries++ { // a machine that is busy may need more than the limit now and then
		if n = try(pgtest.Cut, 0); tries == 100 {
			t.Fatalf("without a fault %d of 101 questions were answered", answered)
		}
	}
	if n < 8 {
		t.Fatalf("a question has %d messages", n)
	}
	for fault, step := range faultSteps() {
		for at := 1; at <= n; at += step {
			if try(fault, at); t.Failed() {
				return
			}
		}
	}
	t.Logf("%d messages; %d questions answered, %d not", n, answered, unanswered)
}

// TestKeyDrawnTwice: a server that is killed, or replaced by its standby, draws the log keys of lost transactions
// again. What another daemon then commits with such a key is not taken for the lost commit.
func TestKeyDrawnTwice(t *testing.T) {
	url := database(t)
	s, other := mustOpen(t, Config{URL: url}), mustOpen(t, Config{URL: url})
	defer mustClose(t, s)
	defer mustClose(t, other)
	if _, _, err := other.Create(storetest.Genesis("l")); err != nil {
		t.Fatal(err)
	}
	for _, create := range []bool{false, true} {
		p, err := storetest.Proposed(s, "l", 1)
		if err != nil {
			t.Fatal(err)
		}
		if create {
			g := storetest.Genesis("lost")
			g.StoreID = s.ID()
			p = ledger.Proposal{Ledger: "lost", Genesis: &g}
		}
		a := &attempt{Store: s, ops: []*operation{{batch: []ledger.Proposal{p}}}}
		look := func() (committed bool) {
			if err := s.with(t.Context(), func(ctx context.Context, c *pgx.Conn) (err error) {
				committed, err = a.look(ctx, c)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return committed
		}
		if err := s.with(t.Context(), func(ctx context.Context, c *pgx.Conn) error {
			if err := a.lock(ctx, c); err != nil {
				return err
			}
			a.decide(a.ops[0])
			for _, b := range a.books {
				a.writes.book(b)
			}
			rollback(c) // it is lost
			return a.ops[0].err
		}); err != nil {
			t.Fatal(err)
		}
		execute(t, url, "SELECT setval('log_keys', last_value, false) FROM log_keys")
		if create {
			_, _, err = other.Create(storetest.Genesis("found"))
		} else {
			err = storetest.Charge(other, "l", 2)
		}
		if err != nil {
			t.Fatal(err)
		}
		if look() {
			t.Errorf("create %t: a commit that was lost is found, as another one has its key", create)
		}
	}
}

// load has writers charge ledgers through stores until stop is closed, and then compares what was
// acknowledged with what is there.
type load struct {
	t        *testing.T
	stores   []*Store
	acked    sync.Map    // name → *atomic.Uint64
	alone    atomic.Bool // nothing that is begun now may be acknowledged
	stop     chan struct{}
	writers  sync.WaitGroup
	failures atomic.Int64
}

const loadLedgers = 3

func startLoad(t *testing.T, stores ...*Store) *load {
	l := &load{t: t, stores: stores, stop: make(chan struct{})}
	for i := range loadLedgers {
		name := fmt.Sprint("l", i)
		if _, _, err := stores[0].Create(storetest.Genesis(name)); err != nil {
			t.Fatal(err)
		}
		l.acked.Store(name, &atomic.Uint64{})
	}
	for i := range 6 {
		l.writers.Go(func() {
			for n := i; ; n++ {
				select {
				case <-l.stop:
					return
				default:
				}
				l.charge(stores[i%len(stores)], fmt.Sprint("l", n%loadLedgers), i)
			}
		})
	}
	return l
}

func (l *load) charge(s *Store, name string, i int) {
	alone := l.alone.Load()
	p, err := storetest.Proposed(s, name, i)
	if err == nil {
		_, err = s.Append([]ledger.Proposal{p})
	}
	if err == nil && alone && l.alone.Load() {
		l.t.Errorf("writer %d: a charge was acknowledged without the standby", i)
	}
	switch {
	case err == nil:
		n, _ := l.acked.Load(name)
		n.(*atomic.Uint64).Add(1)
	case errors.Is(err, ledger.ErrConflict):
	case errors.Is(err, ledger.ErrUnavailable):
		l.failures.Add(1)
		time.Sleep(10 * time.Millisecond)
	default:
		l.t.Errorf("writer %d: %v", i, err)
	}
}

// total is how many charges were acknowledged.
func (l *load) total() (total uint64) {
	l.acked.Range(func(_, n any) bool {
		total += n.(*atomic.Uint64).Load()
		return true
	})
	return total
}

// more waits until charges are acknowledged again.
func (l *load) more() {
	l.t.Helper()
	for before, deadline := l.total(), time.Now().Add(time.Minute); l.total() < before+10; {
		if time.Now().After(deadline) {
			l.t.Fatal("nothing is acknowledged any more")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// end checks that exactly what was acknowledged is there. The store that is asked may be away yet when the other one
// takes charges again: it comes back by itself.
func (l *load) end() {
	l.t.Helper()
	close(l.stop)
	l.writers.Wait()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, err := l.stores[0].Load("l0")
		if !errors.Is(err, ledger.ErrUnavailable) || time.Now().After(deadline) {
			break
		}
	}
	for i := range loadLedgers {
		name := fmt.Sprint("l", i)
		n, _ := l.acked.Load(name)
		want := n.(*atomic.Uint64).Load()
		records, err := l.stores[0].Records(name, 1, 1<<20)
		snapshot, e := l.stores[0].Load(name)
		if err != nil || e != nil || uint64(len(records)) != want || snapshot.Total != want {
			l.t.Errorf("ledger %s: %d entries, total %d; %d were acknowledged; %v, %v", name, len(records),
				snapshot.Total, want, err, e)
		}
	}
	l.t.Logf("%d acknowledged, %d refused", l.total(), l.failures.Load())
}

// TestTerminated: sessions that are terminated at any moment lose and double nothing.
func TestTerminated(t *testing.T) {
	t.Parallel()
	underLoad(t, 15, (*pgtest.Server).TerminateAll)
}

// TestKilled: a server that is killed and started again has what was acknowledged, and daemons go
// on by themselves.
func TestKilled(t *testing.T) {
	t.Parallel()
	underLoad(t, 3, func(server *pgtest.Server) error {
		server.Kill()
		return server.Start()
	})
}

// underLoad does something to the server again and again while two stores are charged and merge, and compares what is
// there with what was acknowledged.
func underLoad(t *testing.T, times int, disturb func(*pgtest.Server) error) {
	t.Helper()
	server := pgtest.Start(t, pgtest.Config{})
	c := Config{URL: server.Database(t), cold: eager}
	a, b := mustOpen(t, c), mustOpen(t, c)
	defer mustClose(t, a)
	defer mustClose(t, b)
	l := startLoad(t, a, b)
	for range times {
		l.more()
		if err := disturb(server); err != nil {
			t.Fatal(err)
		}
	}
	l.more()
	l.end()
}

// TestPaused: a server that says nothing makes charges and questions unavailable, quickly after the
// first; and all comes back by itself.
func TestPaused(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{})
	s := mustOpen(t, Config{URL: server.Database(t), ReadLimit: 500 * time.Millisecond, CommitLimit: time.Second})
	defer mustClose(t, s)
	l := startLoad(t, s)
	l.more()
	server.Kill()
	for s.Ready() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := s.Heads([]string{"l0"}); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Heads without a database = %v", err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	l.more()
	l.end()
}

// TestStandby: without the standby nothing is acknowledged, also when the wait is cancelled, and no
// question is answered; with it everything is; and a promoted standby has what was acknowledged.
func TestStandby(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{Synchronous: true})
	url := server.Database(t)
	var unknown atomic.Int64
	// Whatever the database's defaults are, its sessions hear that a wait was cancelled.
	if err := server.Exec("ALTER ROLE ALL SET client_min_messages = error"); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, Config{URL: url})) // takes its time to make the tables
	c := Config{URL: url, ReadLimit: time.Second, CommitLimit: 2 * time.Second, cold: eager, Observer: Observer{
		Unknown: func(Outcome) { unknown.Add(1) }}}
	s := mustOpen(t, c)
	defer mustClose(t, s)
	other := mustOpen(t, c)
	defer mustClose(t, other)
	l := startLoad(t, s, other)
	l.more()
	if err := server.Standby.Stop(); err != nil {
		t.Fatal(err)
	}
	l.alone.Store(true) // what was begun before may have come to the standby
	noticed := func() bool { return unknown.Load() > 0 || s.Ready() != nil || other.Ready() != nil }
	for n, patience := 0, time.Now().Add(time.Minute); n < 5 || !noticed(); n++ { // administrators who are in a hurry
		if time.Now().After(patience) {
			t.Fatal("no commit's outcome was unknown, and no daemon has noticed anything")
		}
		time.Sleep(100 * time.Millisecond)
		const cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
		if err := server.Exec(cancel); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Heads([]string{"l0"}); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Heads without a standby = %v", err)
	}
	l.alone.Store(false)
	if err := server.Standby.Start(); err != nil {
		t.Fatal(err)
	}
	l.more()
	l.end()
	acked := l.total()
	server.Kill()
	if err := server.Standby.Promote(); err != nil {
		t.Fatal(err)
	}
	promoted := mustOpen(t, Config{URL: server.Standby.URL(s.pool.Config().ConnConfig.Database)})
	defer mustClose(t, promoted)
	found := uint64(0)
	for i := range loadLedgers {
		snapshot, err := promoted.Load(fmt.Sprint("l", i))
		if err != nil {
			t.Fatal(err)
		}
		found += snapshot.Total
	}
	if found < acked {
		t.Errorf("the promoted standby has %d of %d charges", found, acked)
	}
}

// TestNeverCancel: giving a connection up sends the server no request to cancel what it does.
func TestNeverCancel(t *testing.T) {
	s := mustOpen(t, Config{URL: database(t)})
	defer mustClose(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	holder, err := s.pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Release()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	awaitOne := func(sql string) {
		t.Helper()
		for n := 0; n != 1; time.Sleep(10 * time.Millisecond) {
			if err := s.pool.QueryRow(ctx, sql).Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := holder.Exec(ctx, "SELECT pg_advisory_lock(7)"); err != nil {
		t.Fatal(err)
	}
	patience, giveUp := context.WithCancel(ctx)
	gaveUp := make(chan error)
	go func() {
		const slow = "INSERT INTO meta (name, value) SELECT 'slow', '' FROM pg_advisory_lock(7)"
		_, err := conn.Exec(patience, slow)
		conn.Release()
		gaveUp <- err
	}()
	awaitOne("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database() " +
		"AND query LIKE 'INSERT INTO meta%'")
	giveUp()
	if err := <-gaveUp; err == nil {
		t.Error("the statement has ended before it was given up")
	}
	if _, err := holder.Exec(ctx, "SELECT pg_advisory_unlock(7)"); err != nil {
		t.Fatal(err)
	}
	awaitOne("SELECT count(*) FROM meta WHERE name = 'slow'") // not if it was cancelled
}
