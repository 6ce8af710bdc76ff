// SPDX-License-Identifier: Apache-2.0

// Package upkeep verifies the store while it serves, and answers when it was last verified and backed up. These two
// facts are noted beside the ledgers, so that they outlive the daemon and are known to all daemons of a database.
// Nothing is decided by them: a note that cannot be written or read costs only the knowledge.
package upkeep

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// Config says what is kept up.
type Config struct {
	Store    ledger.Store
	Place    Place
	Interval time.Duration // from the end of one verification to the begin of the next; without any if not positive
	Rate     int64         // the most bytes a second that a verification reads
	Version  string        // the daemon's
	Logger   *slog.Logger

	Read    func(bytes int64)  // called after each verification, or part of one, also one that did not end
	Whole   func(at time.Time) // called when a verification that ended then has found no damage
	Found   func(damaged bool) // called when a database was found damaged, and when a verification of it has ended
	Damaged func()             // called once the store refuses everything because it is damaged
}

// Place is what is known of where a store keeps its ledgers.
type Place struct {
	Kind string // "file", "database"; "memory" if empty
	// Promises says in sentences what keeps an acknowledged charge from being lost. It may be nil.
	Promises func() ([]string, error)
	// Warnings says in sentences what is known to have been lost. It may be nil.
	Warnings func() ([]string, error)
}

// Upkeep verifies a store, and implements GetStoreStatus.
type Upkeep struct {
	config  Config
	started time.Time
	pace    pace

	mu     sync.Mutex // held while facts are compared and noted
	facts  pb.GetStoreStatusResponse
	noted  time.Time // when a verification was noted last
	failed bool      // a note could not be written, and the log says so
	unread error     // why the newest check of the file could not read everything
}

// New returns the upkeep of a store by a daemon that starts now.
func New(c Config) *Upkeep { return &Upkeep{config: c, started: time.Now(), pace: usualPace} }

// noting is a store that keeps notes beside its ledgers.
type noting interface {
	// Note keeps a text under a name, in the place of the one before. Noted returns it, and nil if there is none.
	Note(name string, text []byte) error
	Noted(name string) (text []byte, err error)
}

// The names of the notes.
const (
	verificationNote = "verification"
	backupNote       = "backup"
)

// noteEvery is how often a verification that found nothing is noted at most.
const noteEvery = time.Minute

// Verified notes that the store was gone through since start, and what was found damaged then.
func (u *Upkeep) Verified(start time.Time, of string, bytes int64, damage error) {
	v := &pb.StoreVerification{StartTime: timestamppb.New(start), EndTime: timestamppb.Now(), Of: of,
		Bytes: uint64(bytes)}
	if damage != nil {
		v.Damage = damage.Error()
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.facts.LastVerification = v
	if damage == nil && time.Since(u.noted) < noteEvery {
		return
	}
	u.noted = time.Now()
	u.note(verificationNote, &pb.GetStoreStatusResponse{LastVerification: v})
}

// Copied is told how an attempt to copy the whole store ended. What was copied was also verified.
func (u *Upkeep) Copied(start time.Time, bytes int64, err error) {
	if err == nil || errors.Is(err, ledger.ErrDamaged) {
		u.Verified(start, "everything of which a backup was made", bytes, err)
	}
}

// BackedUp notes a backup that was sent whole, unless a newer one was made while it was sent.
func (u *Upkeep) BackedUp(b *pb.StoreBackup) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, err := u.read(); err == nil && older(b.GetTime(), known.GetNewestBackup().GetTime()) {
		return
	}
	u.facts.NewestBackup = b
	u.note(backupNote, &pb.GetStoreStatusResponse{NewestBackup: b})
}

// note keeps facts under a name, with the identifier of the store that they are about. The caller holds mu.
func (u *Upkeep) note(name string, facts *pb.GetStoreStatusResponse) {
	store, ok := u.config.Store.(noting)
	if !ok {
		return
	}
	facts.StoreId = u.config.Store.ID()
	text, err := wirejson.Marshal(facts)
	if err == nil {
		err = store.Note(name, text)
	}
	if err != nil && !u.failed {
		u.config.Logger.Warn("when the store was verified and backed up could not be noted: a daemon that starts "+
			"later will not know it", "error", err)
	}
	u.failed = err != nil
}

// read returns the newest facts: what this daemon knows, or what was noted by it before or by another one.
// The caller holds mu.
func (u *Upkeep) read() (*pb.GetStoreStatusResponse, error) {
	facts := &pb.GetStoreStatusResponse{LastVerification: u.facts.GetLastVerification(),
		NewestBackup: u.facts.GetNewestBackup()}
	store, ok := u.config.Store.(noting)
	if !ok {
		return facts, nil
	}
	for _, name := range []string{verificationNote, backupNote} {
		text, err := store.Noted(name)
		if err != nil {
			return nil, err
		}
		var noted pb.GetStoreStatusResponse
		if text == nil || wirejson.Unmarshal(text, &noted) != nil || noted.GetStoreId() != u.config.Store.ID() {
			continue // there is none, or a power cut has torn it, or it is another store's
		}
		if v := noted.GetLastVerification(); older(facts.GetLastVerification().GetEndTime(), v.GetEndTime()) {
			facts.LastVerification = v
		}
		if b := noted.GetNewestBackup(); older(facts.GetNewestBackup().GetTime(), b.GetTime()) {
			facts.NewestBackup = b
		}
	}
	return facts, nil
}

// older reports whether a is before b; what is absent is older than everything else.
func older(a, b *timestamppb.Timestamp) bool {
	return b != nil && (a == nil || a.AsTime().Before(b.AsTime()))
}
