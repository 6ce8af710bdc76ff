// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/server"
)

// That merging fails is told once it has failed often and for long, until it succeeds.
func TestMergingIsWatched(t *testing.T) {
	w := watchMerging(server.NewMetrics())
	now := time.Unix(1_700_000_000, 0)
	w.now = func() time.Time { return now }
	for i, c := range []struct {
		after time.Duration
		err   error
		told  bool
	}{
		{0, errors.New("early"), false},
		{time.Hour, errors.New("the second"), false},
		{time.Second, nil, false},
		{time.Second, errors.New("a"), false},
		{time.Second, errors.New("b"), false},
		{time.Second, errors.New("c"), false},
		{failingToTell, errors.New("no room"), true},
		{time.Minute, errors.New("still none"), true},
		{time.Minute, nil, false},
		{time.Hour, errors.New("later"), false},
	} {
		now = now.Add(c.after)
		w.tried(c.err)
		warnings := strings.Join(w.warnings(), " ")
		if w.told != c.told || (warnings != "") != c.told ||
			c.told && !strings.Contains(warnings, c.err.Error()) {
			t.Errorf("step %d: %v, %q; want %v", i, w.told, warnings, c.told)
		}
	}
}
