// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/verify"
)

// Fault is something that goes wrong while a store writes.
type Fault struct {
	Name string
	// Arm has it go wrong at a step of the next write; the first step is 1. What Arm returns ends that, waits
	// until the store serves again if the fault was more than a moment, and reports whether the write came to
	// that step.
	Arm func(t *testing.T, s ledger.Store, step int) (disarm func() (came bool))
	// Kept says what becomes of the write, where the store does not find that out by itself.
	Kept bool
}

// scenes are what is written one after the other, each time on what is there then.
var scenes = []struct {
	name  string
	steps []func(f *shelf) write
}{
	{"one ledger", []func(f *shelf) write{
		func(f *shelf) write { return write{}.making(f, limited("l")) },
		func(f *shelf) write {
			b := f.books[0]
			return b.write(b.charge(writer(0), 0, 5), b.charge(writer(1), 1, 6), b.charge(writer(0), 2, 7))
		},
		func(f *shelf) write { return f.books[0].write(f.books[0].raise(writer(1), 2e12)) },
		func(f *shelf) write { return f.books[0].write(f.books[0].request(writer(0), refund(1, part(0, 5)))) },
		func(f *shelf) write { return f.books[0].write(f.books[0].request(writer(2), ledger.Close{})) },
	}},
	{"reservations", []func(f *shelf) write{
		func(f *shelf) write { return write{}.making(f, limited("l")) },
		func(f *shelf) write {
			b := f.books[0]
			return b.write(b.reserve(writer(0), part(0, 5), part(1, 2)), b.reserve(writer(1), part(1, 7)))
		},
		func(f *shelf) write { return f.books[0].write(f.books[0].commit(writer(0), 1, part(0, 4))) },
		func(f *shelf) write {
			b := f.books[0]
			return b.write(b.request(writer(0), ledger.Release{Reservation: 1}), b.reserve(writer(0), part(2, 1)))
		},
		func(f *shelf) write {
			return f.books[0].write(f.books[0].request(writer(2), ledger.Expire{Reservation: 2}))
		},
	}},
	{"a child with its share", []func(f *shelf) write{
		func(f *shelf) write { return write{}.making(f, limited("p")) },
		func(f *shelf) write {
			g := limited("p/c")
			g.Spec.Parent, g.Spec.Budgets = "p", []accountant.Budget{{Guard: accountant.GuardZCDP, Rho: 4}}
			g.Resolution = resolved(g.Spec)
			p := f.books[0]
			return p.write(p.request(own("allocate"), ledger.Reserve{Child: "p/c", Events: share})).making(f, g)
		},
		func(f *shelf) write { return f.books[1].write(f.books[1].charge(writer(0), 1, 1)) },
		func(f *shelf) write { return f.books[1].write(f.books[1].request(writer(0), ledger.Close{})) },
		func(f *shelf) write {
			return f.books[0].write(f.books[0].request(own("settle-1"), ledger.Commit{Reservation: 1, Events: share}))
		},
	}},
	{"raises below a dataset", raises},
	{"sets with their journals", []func(f *shelf) write{
		func(f *shelf) write { return write{}.making(f, limited("a")) },
		func(f *shelf) write { return write{}.making(f, limited("b")) },
		func(f *shelf) write { return write{}.making(f, limited("c")) },
		func(f *shelf) write { return f.setStep(0) },
		func(f *shelf) write { return f.setStep(1) },
		func(f *shelf) write { return f.setStep(2) },
		func(f *shelf) write { return f.setStep(3) },
	}},
}

// share is what a child with a budget of ρ = 4 has set aside.
var share = []mechanism.Event{{Mechanism: mechanism.ZeroConcentratedDP{Rho: 4}, Count: 1}}

func own(lane string) ledger.Writer {
	return ledger.Writer{Principal: ledger.Daemon, Name: "request/" + lane}
}

// RunFaults has each write of each scene meet each fault at each of its steps. The store then tells what became of
// the write: all of it is there or nothing, nothing of it appears later, and the store goes on and verifies.
func RunFaults(t *testing.T, h Harness) {
	if len(h.Faults) == 0 {
		t.Skip("no fault is made in the writes of this harness")
	}
	for _, scene := range scenes {
		for _, fault := range h.Faults {
			t.Run(scene.name+", "+fault.Name, func(t *testing.T) {
				t.Parallel()
				for step, came := 1, true; came && !t.Failed(); step++ {
					t.Run(fmt.Sprint(step), func(t *testing.T) { came = h.play(t, scene.steps, fault, step) })
				}
			})
		}
	}
}

// play writes a scene, in which each write meets a fault at one of its steps. It reports whether any of the writes
// came to that step.
func (h Harness) play(t *testing.T, steps []func(*shelf) write, fault Fault, step int) (came bool) {
	f := &shelf{t: t, s: h.Open(t)}
	if h.Look != nil {
		f.look = h.Look(t, f.s)
	}
	defer func() {
		if err := f.s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, next := range steps {
		w := next(f)
		disarm := fault.Arm(t, f.s, step)
		_, err := f.put(w)
		met := disarm()
		came = came || met
		if h.outcome(t, f, fault, met, err) {
			f.kept(w)
			f.check()
			continue
		}
		w.lost()
		f.check()
		f.retry(next)
	}
	f.check()
	f.s = h.Reopen(t, f.s)
	f.check()
	verified(t, f.reads())
	return came
}

// patience is how long a store may take to write again.
const patience = 5 * time.Minute

// retry writes what was not written before. On a busy machine the store may have no time again.
func (f *shelf) retry(next func(*shelf) write) {
	f.t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		w := next(f)
		_, err := f.put(w)
		if err == nil {
			f.kept(w)
			return
		}
		if w.lost(); !errors.Is(err, ledger.ErrUnavailable) || time.Since(began) > patience {
			f.t.Fatalf("the same write again: %v", err)
		}
	}
}

// outcome says whether a write was kept.
func (h Harness) outcome(t *testing.T, f *shelf, fault Fault, met bool, err error) (kept bool) {
	t.Helper()
	switch {
	case h.FindsOut && errors.Is(err, ledger.ErrUnavailable):
		return false
	case !met && err != nil:
		t.Fatalf("a write that met no fault: %v", err)
	case !met || h.FindsOut && err == nil:
		return true
	case h.FindsOut:
		t.Fatalf("a write that met a fault: %v; want success or ErrUnavailable", err)
	case !errors.Is(err, ledger.ErrUnknown):
		t.Fatalf("a write that met a fault: %v; want ErrUnknown", err)
	}
	f.s = h.Reopen(t, f.s)
	return fault.Kept
}

// verified has a backup of the store gone through, where it makes backups.
func verified(t *testing.T, s ledger.Store) {
	t.Helper()
	b, ok := s.(interface {
		Backup() (io.ReadCloser, int64, error)
	})
	if !ok {
		return
	}
	content, _, err := b.Backup()
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(content)
	path := filepath.Join(t.TempDir(), "backup")
	if err := errors.Join(err, content.Close(), os.WriteFile(path, all, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := verify.File(context.Background(), verify.Config{Path: path}); err != nil {
		t.Errorf("the store does not verify: %v", err)
	}
}
