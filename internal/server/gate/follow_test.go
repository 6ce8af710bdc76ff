// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/ledger"
)

const (
	forAnnAndJob = "version: 1\ngrants:\n  - {roles: viewer, to: ['uid:1', 'uid:2'], on: 'ledger:a'}\n"
	forAnn       = "version: 1\ngrants:\n  - {roles: viewer, to: 'uid:1', on: 'ledger:a'}\n"
	ann, job     = "uid:1", "uid:2"
)

// others is what other daemons have recorded, as a gate reads it on the clock of a synctest bubble.
type others struct {
	reading time.Duration // how long a reading takes
	changed chan struct{}

	mu     sync.Mutex
	newest string
	err    error
}

func (o *others) set(newest string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.newest, o.err = newest, err
}

// read answers as of its beginning, which is the latest that a gate can learn of something.
func (o *others) read() ([]byte, uint64, error) {
	o.mu.Lock()
	text, err := o.newest, o.err
	o.mu.Unlock()
	time.Sleep(o.reading)
	return []byte(text), uint64(len(text)), err
}

// following runs a gate without a file that follows o, where ann and job may look at the ledger a.
func following(t *testing.T, o *others) *Gate {
	t.Helper()
	o.changed = make(chan struct{}, 1)
	o.set(forAnnAndJob, nil)
	g, err := New(Config{Logger: slog.New(slog.DiscardHandler), Changed: o.changed,
		Spec:   func(string) (ledger.Spec, error) { return ledger.Spec{}, ledger.ErrNotFound },
		Record: func([]byte) (uint64, error) { return 0, nil },
		Newest: o.read})
	if err != nil {
		t.Fatal(err)
	}
	g.Begin()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); g.Run(ctx, nil) }()
	t.Cleanup(func() { cancel(); <-done })
	if !g.lets(ann, "a") || !g.lets(job, "a") {
		t.Fatal("the first policy is not in force")
	}
	return g
}

// until returns how long it takes from now until f is true, to a millisecond.
func until(t *testing.T, f func() bool) time.Duration {
	t.Helper()
	from := time.Now()
	for synctest.Wait(); !f(); synctest.Wait() {
		time.Sleep(time.Millisecond)
		if time.Since(from) > time.Minute {
			t.Fatal("not within a minute")
		}
	}
	return time.Since(from)
}

// Another daemon has taken a right away. A daemon that is told of it reads the policy in the same moment. One that
// is not told reads it within a second and the time of two readings, whenever in that second it was recorded.
func TestHowLateAPolicyIsFollowed(t *testing.T) {
	t.Parallel()
	for _, reading := range []time.Duration{0, 10 * time.Millisecond, 300 * time.Millisecond, 4 * time.Second} {
		for moment := time.Duration(0); moment < 4*time.Second; moment += 130 * time.Millisecond {
			for _, told := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					o := &others{reading: reading}
					g := following(t, o)
					time.Sleep(5*time.Second + moment)
					o.set(forAnn, nil)
					limit := max(time.Second, reading) + reading
					if told {
						o.changed <- struct{}{}
						limit = 2 * reading // one may have begun before
					}
					late := until(t, func() bool { return !g.lets(job, "a") })
					if late > limit {
						t.Errorf("readings of %v, told %v: followed after %v; want at most %v", reading, told, late,
							limit)
					}
					if !g.lets(ann, "a") {
						t.Error("a right is gone that both policies give")
					}
				})
			}
		}
	}
}

// A daemon that can read nothing any more lets the policy before count for ten seconds after its last good reading
// began, and then nobody may do anything. That it is told of changes makes no difference.
func TestDeafDaemonLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o := &others{reading: 4 * time.Second}
			g := following(t, o)
			time.Sleep(20*time.Second + 500*time.Millisecond)
			o.set(forAnn, errors.New("the database is away"))
			if told {
				o.changed <- struct{}{}
			}
			if late := until(t, func() bool { return !g.lets(job, "a") }); late > maxAge {
				t.Errorf("told %v: the policy before counts for %v; want %v at most", told, late, maxAge)
			}
			_, err := g.Enter("/accountant.v1.Ledgers/GetLedger",
				Identity{Caller: access.Caller{Principal: ann}}, asking("a"))
			if !errors.Is(err, ErrDeaf) || !strings.Contains(err.Error(), "the database is away") ||
				strings.Contains(err.Error(), "policy") {
				t.Errorf("got %v; want %v, and why it is so", err, ErrDeaf)
			}
			o.set(forAnn, nil)
			until(t, func() bool { return g.lets(ann, "a") })
			if g.lets(job, "a") {
				t.Error("the policy before is in force again")
			}
		})
	}
}

// Being told of other daemons' policies again and again is no second look at a file that is half written.
func TestToldWhileAFileIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, file := reloading(t)
		changed := make(chan struct{})
		g.config.Changed = changed
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); g.Run(ctx, nil) }()
		synctest.Wait()
		put(t, file, policyOfA[:len(policyOfA)-len("a/\n")]) // prefix:team/
		time.Sleep(1500 * time.Millisecond)                  // it is found once
		for range 10 {
			changed <- struct{}{}
			synctest.Wait()
		}
		if g.lets("uid:1000", "team/other") {
			t.Error("the beginning of a policy is in force")
		}
		cancel()
		<-done
	})
}

// A file that goes back to a policy which was replaced is not in force, and neither are its rules: otherwise a copy of
// an old file, without require_standby, would lift that rule on one daemon of many.
func TestOldFileKeepsTheRules(t *testing.T) {
	t.Parallel()
	const old = "version: 1\n"
	const strict = old + "store: {require_standby: true, require_dataset: true, fair_calls: 5}\n"
	file := filepath.Join(t.TempDir(), "policy.yaml")
	put(t, file, strict)
	var rules access.Rules
	o := &others{newest: strict}
	g, err := New(Config{Path: file, Logger: slog.New(slog.DiscardHandler), Adopted: func(r access.Rules) { rules = r },
		Record: func([]byte) (uint64, error) { return 0, nil }, // a text that was recorded before is not recorded again
		Newest: o.read})
	if err != nil {
		t.Fatal(err)
	}
	g.Begin()
	put(t, file, old)
	for _, err := range []error{nil, errors.New("the database is away")} {
		o.set(strict, err)
		g.found, g.own = [32]byte{}, g.Policy()
		g.Reload(true)
		if want := g.Policy().Rules; rules != want || !rules.RequireStandby {
			t.Errorf("reading fails with %v: the rules are %v; want %v", err, rules, want)
		}
	}
}
