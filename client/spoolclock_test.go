// SPDX-License-Identifier: Apache-2.0

package client

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// A share is spent until its time, by this machine's clock. A clock that is set back wins nothing.
func TestSpoolClock(t *testing.T) {
	t.Parallel()
	events := []*pb.Event{Event(Gaussian(1), 5)}
	until := func(at, latest time.Time) error {
		s := &Spool{&spoolFile{path: filepath.Join(t.TempDir(), "share")}}
		err := s.file.make(spoolTaken{Ledger: "a", Key: "k", Adjacency: mechanism.AddOrRemoveOne,
			Reserve: encode(&pb.Reserve{Events: events, LifetimeSeconds: 1})})
		if err == nil {
			err = s.file.change(func() (spoolLine, error) { return spoolLine{Reserved: &spoolReserved{1, at}}, nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		s.file.latest = latest
		return s.Spend([]*pb.Event{Event(Gaussian(1), 1)}, nil)
	}
	if err := until(time.Now().Add(time.Hour), time.Time{}); err != nil {
		t.Error(err)
	}
	for _, latest := range []time.Time{{}, time.Now().Add(3 * time.Hour)} {
		at := time.Now()
		if !latest.IsZero() {
			at = at.Add(2 * time.Hour)
		}
		if err := until(at, latest); !errors.Is(err, ErrSpoolOver) {
			t.Errorf("latest %v: %v", latest, err)
		}
	}
}
