// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// NoMomentError says that an archive has no complete segment, or none that early.
type NoMomentError struct {
	Dir   string
	Until time.Time
	First time.Time // of its complete segments; zero where it has none
}

func (e *NoMomentError) Error() string {
	if e.First.IsZero() {
		return fmt.Sprintf("archive %s has no complete segment; allowed: one to which a daemon has written", e.Dir)
	}
	return fmt.Sprintf("archive %s begins at %s, after %s; allowed: a time from then on", e.Dir,
		e.First.Format(time.RFC3339), e.Until.Format(time.RFC3339))
}

// Rebuild makes a backup, at a path where no file is, of the store as it was at the newest complete segment that was
// written until then; a zero time is for the newest of all. It returns the moment.
func Rebuild(ctx context.Context, from Place, until time.Time, path string,
	progress func(done, of uint64)) (at time.Time, err error) {
	store, last, at, err := from.moment(ctx, until)
	if err != nil {
		return at, err
	}
	r, err := persist.NewRebuild(path, store)
	if err != nil {
		return at, err
	}
	var keys []rows.BoundKey
	err = from.Each(ctx, func(s *recordv1.Segment) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for _, p := range s.GetParts() {
			if err := r.Add(written(p)); err != nil {
				return false, fmt.Errorf("%s: %w", from.fileOf(s.GetNumber()), err)
			}
		}
		if s.GetNumber() == last {
			if keys, err = boundKeys(s); err != nil {
				return false, &DamagedError{from.fileOf(s.GetNumber()), "is damaged: " + err.Error()}
			}
		}
		progress(s.GetNumber(), last)
		return s.GetNumber() < last, nil
	})
	if err != nil {
		return at, errors.Join(err, r.Discard())
	}
	return at, r.Finish(keys, at)
}

// moment finds the newest complete segment that was written until a time, and the store that it is of.
func (p Place) moment(ctx context.Context, until time.Time) (store string, last uint64, at time.Time, err error) {
	var first time.Time
	err = p.Each(ctx, func(s *recordv1.Segment) (bool, error) {
		if !s.GetComplete() {
			return true, nil
		}
		t := time.Unix(0, s.GetTimeUnixNanos()).UTC()
		if first.IsZero() {
			first = t
		}
		if !until.IsZero() && t.After(until) {
			return false, nil
		}
		store, last, at = s.GetStoreId(), s.GetNumber(), t
		return true, nil
	})
	if err == nil && last == 0 {
		err = &NoMomentError{Dir: p.Dir, Until: until, First: first}
	}
	return store, last, at, err
}

func boundKeys(s *recordv1.Segment) (keys []rows.BoundKey, err error) {
	for _, b := range s.GetKeys() {
		k, err := rows.ParseKey(b)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}
