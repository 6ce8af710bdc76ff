// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// The line is written only once a tick has passed, and cleared in the end.
func TestProgressIsCleared(t *testing.T) {
	for _, c := range []struct {
		ticks int
		want  string
	}{{0, ""}, {2, "\r\033[Kcomputing … 1 s\r\033[Kcomputing … 2 s\r\033[K"}} {
		var w bytes.Buffer
		tick := make(chan time.Time)
		line := &Progress{what: "computing", stop: make(chan struct{}), ended: make(chan struct{})}
		go line.show(&w, tick)
		for range c.ticks {
			tick <- time.Time{}
		}
		line.End()
		if w.String() != c.want {
			t.Errorf("after %d ticks: %q, want %q", c.ticks, w.String(), c.want)
		}
	}
}

// How much is done is shown of what somebody counts.
func TestProgressCounts(t *testing.T) {
	line := &Progress{unit: func(n uint64) string { return fmt.Sprintf("%d entries", n) }}
	for _, c := range []struct {
		done, total uint64
		want        string
	}{{0, 0, "0 entries"}, {7, 0, "7 entries"}, {45, 60, "75 %: 45 entries of 60 entries"},
		{61, 60, "100 %: 61 entries of 60 entries"}} {
		line.Set(c.done, c.total)
		if got := line.text(3); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.done, c.total, got, c.want)
		}
	}
}

// The daemon is asked until it has read everything, and the line says how far it is.
func TestAnswersAreWaitedFor(t *testing.T) {
	line := &Progress{unit: func(n uint64) string { return fmt.Sprint(n) }}
	var seen []string
	answer, err := untilRead(line, func() (*accountantv1.QueryHistoryResponse, error) {
		seen = append(seen, line.text(1))
		if n := uint64(len(seen)); n < 4 {
			return &accountantv1.QueryHistoryResponse{Reading: &accountantv1.Reading{EntriesRead: n, Entries: 4}}, nil
		}
		return &accountantv1.QueryHistoryResponse{Position: 4}, nil
	})
	if want := []string{"0", "25 %: 1 of 4", "50 %: 2 of 4", "75 %: 3 of 4"}; err != nil || answer.GetPosition() != 4 ||
		!slices.Equal(seen, want) {
		t.Errorf("%v, %v after %q; want %q", answer, err, seen, want)
	}
	broken := errors.New("broken")
	_, err = untilRead(line, func() (*accountantv1.QueryHistoryResponse, error) { return nil, broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}
