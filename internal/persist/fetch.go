// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/cold"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// fetching runs read, which may need segments, as view does. What it needs is fetched between transactions, as nobody
// knows how long that takes; read then begins again.
func (s *Store) fetching(read func(*rows.View) error) error {
	return s.fetchFor(func(fetched map[cold.Ref][]byte) error {
		return s.view(func(v *rows.View) error {
			v.Fetched = fetched
			return read(v)
		})
	})
}

// nothing was fetched yet, as mostly nothing has to be.
var nothing = map[cold.Ref][]byte{}

// fetchFor runs do again and again, with one more block each time, until that is enough or one cannot be read.
func (s *Store) fetchFor(do func(fetched map[cold.Ref][]byte) error) error {
	for fetched := nothing; ; {
		err := do(fetched)
		away, ok := errors.AsType[*rows.AwayError](err)
		if !ok {
			return err
		}
		block, err := s.fetch(s.config.Stop, away)
		if err != nil {
			return err
		}
		if len(fetched) == 0 {
			fetched = map[cold.Ref][]byte{}
		}
		fetched[away.Ref] = block
	}
}

const (
	// fetchPatience is how long a block is waited for.
	fetchPatience = 10 * time.Second
	// hungRests is how many times as long nobody waits again after that. Who waits may hold others up: a question the
	// processor's turn, a repeated request its ledger.
	hungRests = 6
)

func (s *Store) fetch(ctx context.Context, a *rows.AwayError) ([]byte, error) {
	if err := s.hung.still(); err != nil {
		return nil, a.Because(err)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.config.hooks.patience, fetchPatience))
	defer cancel()
	raw, err := a.Fetch(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.hung.until(time.Now().Add(hungRests * time.Since(began)))
	}
	return raw, err
}

// hung remembers that a place has not answered.
type hung struct {
	mu   sync.Mutex
	over time.Time
}

func (h *hung) until(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = t
}

// still returns an error as long as the place is left alone.
func (h *hung) still() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := time.Until(h.over); left > 0 {
		return fmt.Errorf("its place has not answered; it is asked again in %v", left.Round(time.Second))
	}
	return nil
}
