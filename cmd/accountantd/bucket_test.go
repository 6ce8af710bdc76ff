// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist/blobs/blobstest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A stop ends what waits for a bucket that hangs: the question of a client, the copy to the archive, what is about to
// move. What was charged meanwhile is there after the next start.
func TestStopWhileABucketHangs(t *testing.T) {
	b := blobstest.New(t)
	dir := dataDir(t)
	d := start(t, dir)
	fillOld(t, d, "old")
	d.stop(syscall.SIGTERM)
	with := []string{"--cold", b.Place, "--cold-after", "0s", "--archive", b.Place, "--archive-interval", "1s"}
	d = startUntilMoved(t, dir, with...)
	b.Hang.Store(true)
	c := dial(t, "unix:"+d.ready["socket"])
	create(t, c, "new") // which the archive is to have
	asked := b.Asked.Load()
	answer := make(chan error, 1)
	go func() {
		_, err := c.ListEntries(patiently(t), &pb.ListEntriesRequest{Ledger: "old", PageSize: 1})
		answer <- err
	}()
	for b.Asked.Load() < asked+2 { // the question, and the archive
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	d.stop(syscall.SIGTERM)
	t.Logf("stopped within %v", time.Since(began))
	if err := <-answer; status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "terminated signal") {
		t.Errorf("%v; want that the stop has ended it", err)
	}
	b.Hang.Store(false)
	d = start(t, dir, with...)
	if _, err := dial(t, "unix:"+d.ready["socket"]).GetLedger(patiently(t),
		&pb.GetLedgerRequest{Name: "new"}); err != nil {
		t.Error(err)
	}
	d.stop(syscall.SIGTERM)
}
