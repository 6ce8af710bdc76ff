// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Whoever reaches the port can cause lines in the log, such as by logins that fail. The first few are written as
// they come, and then one at a time, which says how many were left out.
const (
	firstLines = 10
	lineEvery  = 10 * time.Second
)

// Seldom returns a logger that writes what others can cause without end: its first ten lines, and then at most one
// in ten seconds. The attribute omitted of such a line is how many came before it that were not written.
func Seldom(l *slog.Logger) *slog.Logger {
	return slog.New(&seldom{l.Handler(), &rate.Sometimes{First: firstLines, Interval: lineEvery}, new(atomic.Int64)})
}

type seldom struct {
	slog.Handler
	some    *rate.Sometimes
	omitted *atomic.Int64
}

// Handle implements slog.Handler.
func (s *seldom) Handle(ctx context.Context, r slog.Record) (err error) {
	s.omitted.Add(1)
	s.some.Do(func() {
		if n := s.omitted.Swap(0) - 1; n > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int64("omitted", n))
		}
		err = s.Handler.Handle(ctx, r)
	})
	return err
}

// WithAttrs implements slog.Handler.
func (s *seldom) WithAttrs(a []slog.Attr) slog.Handler {
	return &seldom{s.Handler.WithAttrs(a), s.some, s.omitted}
}

// WithGroup implements slog.Handler.
func (s *seldom) WithGroup(name string) slog.Handler {
	return &seldom{s.Handler.WithGroup(name), s.some, s.omitted}
}
