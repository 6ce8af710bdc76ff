// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// fleetMinutes, set in the environment, makes TestFleetSoak run, for that long.
const fleetMinutes = "ACCOUNTANT_FLEET_MINUTES"

// Three daemons serve one database with a synchronous standby, and 64 writers charge 16 ledgers whose budgets
// run out: single charges and streams, reservations that are used, given back or expire, and sets of ledgers.
// Some of the ledgers are below datasets, whose budgets run out, too. Meanwhile daemons are killed and stopped,
// sessions are terminated, the server is killed, the standby is stopped and promoted, and connections are cut or
// fall silent. In the end everything that was acknowledged is there once, every answer's head is in the history,
// no budget was overrun, and all verifies.
func TestFleetSoak(t *testing.T) {
	text := os.Getenv(fleetMinutes)
	if text == "" {
		t.Skipf("set %s to a number of minutes", fleetMinutes)
	}
	minutes, err := strconv.ParseFloat(text, 64)
	if err != nil || minutes <= 0 {
		t.Fatalf("%s is %q; allowed: a positive number", fleetMinutes, text)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	c := newChaos(t, rand.New(rand.NewPCG(seed, 1)), minutes >= 5)
	for i := range fleetSize {
		c.start(i)
	}
	c.load = newFleetLoad(t, c.sockets(), max(1, uint64(minutes/3)))
	c.load.start(64, seed)
	end := time.Now().Add(time.Duration(minutes * float64(time.Minute)))
	daemonsRandom := rand.New(rand.NewPCG(seed, 2))
	var daemons sync.WaitGroup
	daemons.Go(func() {
		for time.Now().Before(end) && !t.Failed() {
			c.disturbDaemon(daemonsRandom)
			c.calm(daemonsRandom)
		}
	})
	for time.Now().Before(end) && !t.Failed() {
		c.disturbDatabase()
		c.calm(c.random)
	}
	daemons.Wait()
	c.load.finish()
	c.load.settle()
	c.report()
	c.load.report()
	if t.Failed() {
		for i, d := range c.daemons {
			t.Logf("daemon %d ends with\n%s", i, tail(d.stderr.String(), 3000))
		}
		return
	}
	c.verify()
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

const (
	fleetSize = 3
	moment    = "15:04:05.000"
)

// chaos is a fleet and what happens to it.
type chaos struct {
	t       *testing.T
	random  *rand.Rand
	long    bool // as in the run of an hour
	load    *fleetLoad
	primary *pgtest.Server
	proxies []*pgtest.Proxy // one for each daemon
	urls    []string        // through them
	dirs    []string
	key     string
	daemons []*daemon
	ctl     func(args ...string) (code int, output string)

	mu     sync.Mutex
	pauses map[string][]pause
}

// pause is how long nobody heard of an accepted write, from a fault on, and how much of that was after the
// fault's end.
type pause struct{ from, healed, to time.Time }

func newChaos(t *testing.T, random *rand.Rand, long bool) *chaos {
	c := &chaos{t: t, random: random, long: long, ctl: accountctl(t), key: filepath.Join(t.TempDir(), keyFile),
		daemons: make([]*daemon, fleetSize), pauses: map[string][]pause{}}
	c.primary = pgtest.Start(t, pgtest.Config{Synchronous: true,
		Settings: map[string]string{"wal_keep_size": "256MB", "max_connections": "200"}})
	url := c.primary.Database(t)
	for range fleetSize {
		proxy, through := pgtest.NewProxy(t, url)
		c.proxies, c.urls, c.dirs = append(c.proxies, proxy), append(c.urls, through), append(c.dirs, dataDir(t))
	}
	return c
}

func (c *chaos) sockets() (sockets []string) {
	for _, dir := range c.dirs {
		sockets = append(sockets, "unix:"+filepath.Join(dir, "accountant.sock"))
	}
	return sockets
}

// start starts a daemon, which does not come up while the database is away: then once more.
func (c *chaos) start(i int) {
	args := []string{"--listen", "127.0.0.1:0", "--http", "", "--data", c.dirs[i], "--store", c.urls[i],
		"--signing-key", c.key, "--log-level", "error"}
	if i == 0 {
		args = append(args, "--require-standby")
	}
	var err error
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if c.daemons[i], err = tryCommand(c.t, exec.Command(binary, args...)); err == nil {
			return
		}
	}
	c.t.Errorf("daemon %d did not come up for three minutes: %v", i, err)
}

// calm lets some time pass between faults.
func (c *chaos) calm(random *rand.Rand) {
	time.Sleep(time.Duration(200+random.IntN(1800)) * time.Millisecond)
}

// during notes what a fault did to the writers. The fault has ended when f returns.
func (c *chaos) during(what string, f func() error) {
	p := pause{from: time.Now()}
	c.t.Logf("%s %s", p.from.Format(moment), what)
	defer func() { c.t.Logf("%s %s: over", p.healed.Format(moment), what) }()
	if err := f(); err != nil {
		c.t.Errorf("%s: %v", what, err)
		return
	}
	p.healed = time.Now()
	if p.to = c.load.acknowledgedAfter(p.healed); p.to.IsZero() {
		c.t.Errorf("%s: nothing was acknowledged for two minutes after it had ended", what)
	}
	c.mu.Lock()
	c.pauses[what] = append(c.pauses[what], p)
	c.mu.Unlock()
}

// disturbDaemon kills a daemon or stops it for a while.
func (c *chaos) disturbDaemon(random *rand.Rand) {
	i := random.IntN(fleetSize)
	if random.IntN(2) == 0 {
		c.during("a daemon killed and started", func() error {
			select {
			case err := <-c.daemons[i].done:
				return fmt.Errorf("daemon %d has ended by itself: %w\n%s", i, err,
					tail(c.daemons[i].stderr.String(), 3000))
			default:
			}
			c.daemons[i].kill()
			c.start(i)
			return nil
		})
		return
	}
	length := time.Duration(1+random.IntN(6)) * time.Second
	if c.long && random.IntN(4) == 0 {
		length = time.Minute
	}
	c.during("a daemon stopped", func() error {
		process := c.daemons[i].command.Process
		if err := process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(length)
		return process.Signal(syscall.SIGCONT)
	})
}

// disturbDatabase does something to the database or to the connections to it.
func (c *chaos) disturbDatabase() {
	proxy := c.proxies[c.random.IntN(fleetSize)]
	fault, name := pgtest.Cut, "cut"
	if c.random.IntN(2) == 0 {
		fault, name = pgtest.Silence, "silent"
	}
	switch c.random.IntN(12) {
	case 0, 1:
		c.during("sessions terminated", c.primary.TerminateAll)
	case 2, 3:
		c.during("the server killed and started", func() error {
			c.primary.Kill()
			if err := c.primary.Start(); err != nil {
				return err
			}
			return c.primary.AwaitStandby()
		})
	case 4, 5:
		c.during("the standby stopped", c.withoutStandby)
	case 6, 7:
		c.during("a connection "+name+" at some message of a commit", func() error {
			proxy.Arm(fault, 1+c.random.IntN(40))
			time.Sleep(time.Second)
			proxy.Disarm()
			return nil
		})
	case 8, 9:
		c.during("a connection "+name+" after COMMIT", func() error {
			proxy.ArmCommitted(fault)
			time.Sleep(time.Second)
			proxy.Disarm()
			return nil
		})
	case 10:
		c.during("the standby promoted", func() error { return c.promote(false) })
	default:
		c.during("the standby promoted while the old primary runs", func() error { return c.promote(true) })
	}
}

// withoutStandby stops the standby for a while, in which nobody may be answered, also when administrators
// cancel waits and terminate sessions.
func (c *chaos) withoutStandby() error {
	standby := c.primary.Standby
	if err := standby.Stop(); err != nil {
		return err
	}
	c.load.nobodyAnswers(true)
	for range 1 + c.random.IntN(4) {
		time.Sleep(time.Second)
		const which = "(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
		f := []string{"pg_cancel_backend", "pg_terminate_backend"}[c.random.IntN(2)]
		if err := c.primary.Exec("SELECT " + f + which); err != nil {
			return err
		}
	}
	c.load.nobodyAnswers(false)
	if err := standby.Start(); err != nil {
		return err
	}
	return c.primary.AwaitStandby()
}

// promote makes the standby the primary, and a new standby for it. The daemons come to the new primary one
// after the other. Where the old one still runs, it goes on answering reads, and connections to it stay.
func (c *chaos) promote(runs bool) error {
	old := c.primary
	if !runs {
		old.Kill()
	}
	if err := old.Standby.Promote(); err != nil {
		return err
	}
	c.primary = old.Standby
	for _, i := range c.random.Perm(fleetSize) {
		c.proxies[i].Lead(c.primary)
		time.Sleep(time.Duration(c.random.IntN(500)) * time.Millisecond)
	}
	if runs {
		time.Sleep(time.Duration(c.random.IntN(3000)) * time.Millisecond)
	}
	old.Discard()
	return c.primary.AddStandby()
}

// report tells how long writers had to wait for each kind of fault.
func (c *chaos) report() {
	for _, what := range slices.Sorted(maps.Keys(c.pauses)) {
		var all, after []time.Duration
		for _, p := range c.pauses[what] {
			all, after = append(all, c.load.longestGap(p.from, p.to)), append(after, p.to.Sub(p.healed))
		}
		slices.Sort(all)
		slices.Sort(after)
		c.t.Logf("%-50s %3d times: nothing acknowledged for %5.2f s (median), %5.2f s (max); after its end "+
			"%5.2f s, %5.2f s", what, len(all), all[len(all)/2].Seconds(), all[len(all)-1].Seconds(),
			after[len(after)/2].Seconds(), after[len(after)-1].Seconds())
	}
	for i, d := range c.daemons {
		c.t.Logf("daemon %d has written %d lines with ERROR", i, strings.Count(d.stderr.String(), "ERROR"))
	}
}

// verify verifies each ledger over the API of each daemon in turn, then moves all ledgers into a file,
// verifies that, and compares it with what the writers were told.
func (c *chaos) verify() {
	names := c.load.names()
	for i, name := range names {
		if code, out := c.ctl("verify", name, "--server", c.sockets()[i%fleetSize]); code != 0 {
			c.t.Errorf("verify %s: %d, %s", name, code, out)
		}
	}
	dir := dataDir(c.t)
	if code, out := c.ctl("verify", "--store", c.urls[0]); code != 0 {
		c.t.Errorf("verify --store: %d, %s", code, out)
	}
	data := filepath.Join(dir, "data")
	if code, out, stderr := exitCode(c.t, "move", c.urls[0], data); code != 0 {
		c.t.Fatalf("move: %d, %s%s", code, out, stderr)
	}
	for _, d := range c.daemons {
		d.kill()
	}
	verified(c.t, data)
	c.load.check(data)
	c.t.Logf("%d ledgers verified", len(names))
}
