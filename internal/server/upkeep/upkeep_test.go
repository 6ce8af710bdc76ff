// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/memory"
)

// file is a store whose file is checked.
type file struct {
	*memory.Store
	bytes   int64
	err     error // of each check
	takes   time.Duration
	damaged chan struct{}
}

func (f *file) Scrub(ctx context.Context, _ int64) (int64, error) {
	if f.takes > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(f.takes):
		}
	}
	return f.bytes, f.err
}

func (f *file) Damaged() <-chan struct{} { return f.damaged }
func (f *file) Damage() error            { return f.err }

func newUpkeep(s ledger.Store, log *bytes.Buffer) *Upkeep {
	return New(Config{Store: s, Interval: time.Hour, Version: "v1", Logger: slog.New(slog.NewTextHandler(log, nil)),
		Read: func(int64) {}, Whole: func(time.Time) {}, Found: func(bool) {}, Damaged: func() {}})
}

func status(t *testing.T, u *Upkeep) *pb.GetStoreStatusResponse {
	t.Helper()
	answer, err := u.GetStoreStatus(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// warns fails the test unless the warnings are those that begin so.
func warns(t *testing.T, answer *pb.GetStoreStatusResponse, want ...string) {
	t.Helper()
	got := answer.GetWarnings()
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		t.Errorf("warnings %q; want %q", got, want)
	}
}

// What one daemon has verified and backed up, the next one and the one beside it know.
func TestFactsOutliveTheDaemon(t *testing.T) {
	var log bytes.Buffer
	store := memory.New(memory.Config{})
	u := newUpkeep(store, &log)
	warns(t, status(t, u), "No verification is known", "No backup is known")
	u.Verified(time.Now(), "everything", 5, nil)
	u.BackedUp(&pb.StoreBackup{Time: timestamppb.Now(), Size: 7, Sha256: []byte{1}, Principal: "uid:1"})
	for name, u := range map[string]*Upkeep{"itself": u, "the next": newUpkeep(store.Reopen(), &log),
		"beside": newUpkeep(store.Beside(memory.Config{}), &log)} {
		answer := status(t, u)
		warns(t, answer)
		if v, b := answer.GetLastVerification(), answer.GetNewestBackup(); v.GetOf() != "everything" ||
			v.GetBytes() != 5 || v.GetDamage() != "" || b.GetSize() != 7 || b.GetPrincipal() != "uid:1" {
			t.Errorf("%s: %v", name, answer)
		}
	}
	if log.Len() > 0 {
		t.Error(log.String())
	}
}

// A backup that took so long that a newer one was made meanwhile is not the newest.
func TestTheNewestBackupCounts(t *testing.T) {
	store := memory.New(memory.Config{})
	here, there := newUpkeep(store, nil), newUpkeep(store.Beside(memory.Config{}), nil)
	now := time.Now()
	there.BackedUp(&pb.StoreBackup{Time: timestamppb.New(now), Principal: "new"})
	here.BackedUp(&pb.StoreBackup{Time: timestamppb.New(now.Add(-time.Hour)), Principal: "old"})
	for _, u := range []*Upkeep{here, there, newUpkeep(store, nil)} {
		if by := status(t, u).GetNewestBackup().GetPrincipal(); by != "new" {
			t.Errorf("the newest backup is %q", by)
		}
	}
}

// Seven days are the age from which a backup and a verification are warned of; a day before they are not.
func TestOldFacts(t *testing.T) {
	for _, c := range []struct {
		days int
		want []string
	}{{6, nil}, {7, []string{"verification was 7 days ago", "backup is 7 days old"}},
		{30, []string{"30 days", "30 days"}}} {
		u, at := newUpkeep(memory.New(memory.Config{}), nil), timestamppb.New(time.Now().AddDate(0, 0, -c.days))
		u.facts.LastVerification, u.facts.NewestBackup = &pb.StoreVerification{EndTime: at}, &pb.StoreBackup{Time: at}
		warns(t, status(t, u), c.want...)
	}
}

// Damage is told by the daemon that finds it and by the next one, until everything was verified again.
func TestDamageIsTold(t *testing.T) {
	var log bytes.Buffer
	store := &file{Store: memory.New(memory.Config{}), err: fmt.Errorf("%w: page 3", ledger.ErrDamaged),
		damaged: make(chan struct{})}
	u := newUpkeep(store, &log)
	u.Verified(time.Now(), "everything", 1, nil) // just before
	close(store.damaged)
	u.Run(t.Context())
	next := newUpkeep(store.Reopen(), nil)
	for _, u := range []*Upkeep{u, next} {
		warns(t, status(t, u), "found damage: ", "No backup")
		if d := status(t, u).GetLastVerification().GetDamage(); !strings.Contains(d, "page 3") {
			t.Errorf("damage: %q", d)
		}
	}
	next.Verified(time.Now(), "everything", 1, nil)
	warns(t, status(t, next), "No backup")
	// Nor is a copy that could not be made a verification, unless damage was why.
	next.Copied(time.Now(), 0, errors.New("no room"))
	warns(t, status(t, next), "No backup")
	next.Copied(time.Now(), 0, store.err)
	warns(t, status(t, next), "found damage: ", "No backup")
}

// A check that does not end is no verification; one that does is, with what it has read.
func TestChecks(t *testing.T) {
	var log bytes.Buffer
	for _, c := range []struct {
		err  error
		want []string
	}{{nil, []string{"No backup"}}, {errors.New("the disk is away"),
		[]string{"read everything that is stored: the disk is away", "No verification", "No backup"}}} {
		store := &file{Store: memory.New(memory.Config{}), bytes: 9, err: c.err}
		u := newUpkeep(store, &log)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		checked := make(chan struct{})
		u.config.Read = func(int64) { close(checked) }
		go func() { defer close(ended); u.Run(ctx) }()
		<-checked
		if c.err == nil { // it is noted a moment later
			for status(t, u).GetLastVerification() == nil {
				time.Sleep(time.Millisecond)
			}
		}
		cancel()
		<-ended
		answer := status(t, u)
		warns(t, answer, c.want...)
		if c.err == nil && answer.GetLastVerification().GetBytes() != 9 ||
			answer.GetVerificationIntervalSeconds() != 3600 {
			t.Errorf("%v", answer)
		}
	}
}

// A check that fails again and again, as while a segment is missing, takes a fifth of the time at most.
func TestFailingChecksRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &file{Store: memory.New(memory.Config{}), err: errors.New("segment 1 is lost"), takes: 2 * time.Hour}
		u, checks := newUpkeep(store, new(bytes.Buffer)), 0
		u.config.Interval = 24 * time.Hour
		u.config.Read = func(int64) { checks++ }
		ctx, cancel := context.WithTimeout(t.Context(), 99*time.Hour)
		defer cancel()
		u.Run(ctx)
		if checks != 10 {
			t.Errorf("%d checks of two hours in 99 hours; want 10", checks)
		}
	})
}

// A note of another store, a torn one and one that cannot be written cost the knowledge and nothing else.
func TestNotesThatAreOfNoUse(t *testing.T) {
	store := memory.New(memory.Config{})
	newUpkeep(store, nil).BackedUp(&pb.StoreBackup{Time: timestamppb.Now()})
	whole, err := store.Noted(backupNote)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range [][]byte{whole[:len(whole)/2], {},
		bytes.Replace(whole, []byte(store.ID()), []byte("11111111-1111-4111-8111-111111111111"), 1)} {
		if err := store.Note(backupNote, text); err != nil {
			t.Fatal(err)
		}
		warns(t, status(t, newUpkeep(store, nil)), "No verification", "No backup")
	}
	var log bytes.Buffer
	u := newUpkeep(full{store}, &log)
	for range 3 {
		u.BackedUp(&pb.StoreBackup{Time: timestamppb.Now()})
		u.Verified(time.Now(), "everything", 1, nil)
	}
	warns(t, status(t, u))
	if n := strings.Count(log.String(), "could not be noted"); n != 1 {
		t.Errorf("%d complaints: %s", n, log.String())
	}
}

// full is a store that takes no note.
type full struct{ *memory.Store }

func (full) Note(string, []byte) error { return errors.New("no space left on device") }
