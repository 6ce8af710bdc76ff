package server

import (
	"context"
	"testing"
	"time"
)

// A computation ends with its call, or a tenth of the time before the deadline.
func TestStopFor(t *testing.T) {
	deadline := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	if stopFor(ctx, deadline.Add(-2*time.Hour))() {
		t.Error("an hour before the deadline of a call that has 2: stopped; want 12 minutes kept")
	}
	if !stopFor(ctx, deadline.Add(-20*time.Hour))() {
		t.Error("an hour before the deadline of a call that has 20: goes on; want 2 hours kept")
	}
	stop := stopFor(ctx, time.Now())
	cancel()
	if !stop() {
		t.Error("goes on after the call has ended")
	}
	if stopFor(t.Context(), time.Now())() {
		t.Error("without a deadline: stopped")
	}
}
