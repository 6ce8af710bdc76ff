// SPDX-License-Identifier: Apache-2.0

package upkeep

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// sweepable is a store that several daemons serve. They verify it in turns, a little at a time.
type sweepable interface {
	noting
	// Sweep verifies some of the store from a place on, about a MiB at most: from its beginning if the place is empty.
	// It returns the place after that, which is empty at the end. If a ledger is damaged it returns ErrDamaged, and the
	// place after that ledger. Nothing is refused because of it.
	Sweep(ctx context.Context, place []byte) (next []byte, read int64, err error)
}

// sweepNote is the name of the note by which daemons know how far the pass at hand has come, and who is at it.
const sweepNote = "sweep"

// pass is one verification of everything stored, as it is noted.
type pass struct {
	Store   string    `json:"store"`
	By      string    `json:"by,omitempty"` // the daemon that is at it; empty: nobody is
	Saved   uint64    `json:"saved"`        // how often it was noted: by it others see that somebody is at it
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended,omitzero"`
	Place   []byte    `json:"place,omitempty"`
	Read    int64     `json:"read"`
	Damaged []string  `json:"damaged,omitempty"` // what was found, at most maxTold
	More    int       `json:"more,omitempty"`    // damaged ledgers besides

	Whole  time.Time `json:"whole,omitzero"`  // when the newest pass ended that has found no damage
	Before bool      `json:"before,omitzero"` // the pass before this one has found damage
}

// maxTold bounds how many damaged ledgers are told by name.
const maxTold = 10

func (p *pass) damage() error {
	if len(p.Damaged) == 0 {
		return nil
	}
	text := strings.Join(p.Damaged, "; ")
	if p.More > 0 {
		text += fmt.Sprintf("; and in %d more ledgers", p.More)
	}
	return errors.New(text)
}

// pace is how daemons take turns. Only how much is read twice depends on it.
type pace struct {
	save     time.Duration // between two notes of how far a pass has come
	patience time.Duration // after which a daemon that has noted nothing is taken to be gone
	settle   time.Duration // after which daemons that began a pass at the same moment see each other's notes
	rest     int           // times as long as a step has taken is the pause after it
}

var usualPace = pace{save: 10 * time.Second, patience: 2 * time.Minute, settle: time.Second, rest: 3}

// looks is how often a daemon looks, while its patience lasts, at how far another one has come.
const looks = 12

// sweeper has one daemon take its turns.
type sweeper struct {
	*Upkeep
	store sweepable
	me    string
}

// sweeps takes turns with the other daemons of the store until ctx ends.
func (u *Upkeep) sweeps(ctx context.Context, store sweepable) {
	s := sweeper{u, store, rand.Text()}
	warned := false
	for ctx.Err() == nil {
		err := s.turn(ctx)
		if err == nil || ctx.Err() != nil {
			warned = false
			continue
		}
		if !warned {
			u.config.Logger.Warn("the database could not be verified: it is tried again", "error", err)
		}
		warned = true
		pause(ctx, min(u.config.Interval, time.Minute))
	}
}

// turn waits until a pass is due that no other daemon is at, and goes on with it.
func (s sweeper) turn(ctx context.Context) error {
	p, err := s.read()
	if err != nil {
		return err
	}
	s.tell(p)
	switch {
	case !p.Ended.IsZero():
		if due := s.config.Interval - max(0, time.Since(p.Ended)); due > 0 {
			pause(ctx, due)
			return nil
		}
		p = pass{Saved: p.Saved, Whole: p.Whole, Before: p.damage() != nil}
	case p.By != "":
		for range looks {
			pause(ctx, s.pace.patience/looks)
			if q, err := s.read(); err != nil || q.By != p.By || q.Saved != p.Saved {
				return err
			}
		}
	}
	if p.Began.IsZero() {
		p.Began = time.Now().UTC()
	}
	if err := s.save(ctx, &p, s.me); err != nil {
		return err
	}
	pause(ctx, s.pace.settle)
	if mine, err := s.mine(); err != nil || !mine {
		return err
	}
	return s.sweep(ctx, &p)
}

// sweep goes on with a pass until its end, or until another daemon has taken it over.
func (s sweeper) sweep(ctx context.Context, p *pass) error {
	began, before, saved := time.Now(), p.Read, time.Now()
	for ctx.Err() == nil {
		start := time.Now()
		next, read, err := s.store.Sweep(ctx, p.Place)
		p.Read += read
		s.config.Read(read)
		switch {
		case errors.Is(err, ledger.ErrDamaged):
			s.found(p, err)
		case err != nil:
			return errors.Join(err, s.save(ctx, p, ""))
		}
		if p.Place = next; len(next) == 0 {
			if p.Ended = time.Now().UTC(); p.damage() == nil {
				p.Whole = p.Ended
			}
			err := s.save(ctx, p, "")
			s.Verified(p.Began, "every row of the database", p.Read, p.damage())
			s.config.Logger.Debug("the database was verified", "bytes", p.Read, "damage", p.damage())
			s.tell(*p)
			return err
		}
		if time.Since(saved) >= s.pace.save {
			mine, err := s.mine()
			if err == nil && mine {
				err = s.save(ctx, p, s.me)
			}
			if err != nil || !mine {
				return err
			}
			saved = time.Now()
		}
		due := time.Now().Add(time.Duration(s.pace.rest) * time.Since(start))
		if rate := s.config.Rate; rate > 0 {
			full := began.Add(time.Duration(float64(p.Read-before) / float64(rate) * float64(time.Second)))
			if full.After(due) {
				due = full
			}
		}
		pause(ctx, min(time.Until(due), s.pace.save))
	}
	return s.save(ctx, p, "") // the next daemon need not wait
}

// found tells of damage when it is found; the pass may take hours more.
func (s sweeper) found(p *pass, err error) {
	if len(p.Damaged) == maxTold {
		p.More++ // which is told at the end
		return
	}
	p.Damaged = append(p.Damaged, err.Error())
	s.config.Logger.Error("the database is damaged: what needs the damaged rows is refused, everything else goes on",
		"error", err, "do", "keep a copy of the server's files, look at its disk, and see docs/fleet.md")
	s.Verified(p.Began, "the rows of the database that were read until then", p.Read, p.damage())
	s.config.Found(true)
}

// tell has the metrics say what is known of damage, whichever daemon has looked for it. What a pass has found counts
// until the next one has ended.
func (s sweeper) tell(p pass) {
	s.config.Found(p.damage() != nil || p.Before && p.Ended.IsZero())
	if !p.Whole.IsZero() {
		s.config.Whole(p.Whole)
	}
}

// read returns the pass that is noted; an empty one if there is none.
func (s sweeper) read() (p pass, err error) {
	text, err := s.store.Noted(sweepNote)
	if err != nil || text == nil {
		return p, err
	}
	if json.Unmarshal(text, &p) != nil || p.Store != s.config.Store.ID() {
		return pass{}, nil // of a later version, or of another store: it costs one more pass
	}
	return p, nil
}

// mine reports whether this daemon is at the pass that is noted.
func (s sweeper) mine() (bool, error) {
	p, err := s.read()
	return p.By == s.me, err
}

// save notes how far a pass has come, and who is at it.
func (s sweeper) save(ctx context.Context, p *pass, by string) error {
	p.Store, p.By = s.config.Store.ID(), by
	p.Saved++
	text, err := json.Marshal(p)
	if err == nil {
		err = s.store.Note(sweepNote, text)
	}
	if ctx.Err() != nil {
		return nil // the daemon stops: the others wait a little longer
	}
	return err
}

// pause returns after d, or when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
