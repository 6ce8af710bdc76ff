// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
)

// limit bounds the daemon's files, as a full disk does; 0 takes the bound away.
func (d *daemon) limit(size uint64) {
	d.t.Helper()
	if size == 0 {
		size = unix.RLIM_INFINITY
	}
	if err := unix.Prlimit(d.command.Process.Pid, unix.RLIMIT_FSIZE,
		&unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}, nil); err != nil {
		d.t.Fatal(err)
	}
}

// The store's file cannot grow: charges end with UNAVAILABLE when the room that was
// allocated ahead is used up, and are in doubt for nobody; questions are answered;
// the daemon starts again, stopped in order or killed; with room again it takes what
// it could not.
func TestFullDisk(t *testing.T) {
	dir := dataDir(t)
	d := start(t, dir)
	c, err := client.New(client.Config{Server: "unix:" + d.ready["socket"], MaxAttempts: 1, Window: 600,
		Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx := patiently(t)
	if _, err := c.CreateLedger(ctx,
		&pb.LedgerSpec{Name: "full", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Stat(filepath.Join(dir, persist.FileName))
	if err != nil {
		t.Fatal(err)
	}
	size := uint64(file.Size())
	d.limit(size)

	event := []*pb.Event{client.Event(client.Gaussian(2), 1)}
	random := rand.New(rand.NewPCG(1, 2))
	long := func() map[string]string { // 4 kB, to use up the room soon, which packs cannot make small
		labels := map[string]string{}
		for i := range 16 {
			text := make([]byte, 250)
			for j := range text {
				text[j] = byte('!' + random.IntN('~'-'!'))
			}
			labels[fmt.Sprint("label-", i)] = string(text)
		}
		return labels
	}
	lane, err := c.Stream(ctx, "full")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = lane.Report(ctx, event, long())
	}
	noRoom := func(err error) {
		t.Helper()
		var e *client.Error
		if !errors.As(err, &e) || e.Code != codes.Unavailable || !strings.Contains(e.Message, "no room in") {
			t.Fatalf("%v; want UNAVAILABLE for lack of room", err)
		}
	}
	noRoom(err)
	acknowledged, left := lane.Status().Acknowledged, len(c.Pending("full"))
	if acknowledged == 0 || left == 0 {
		t.Fatalf("%d acknowledged, %d pending; want some of both", acknowledged, left)
	}
	taken := acknowledged + uint64(left)
	serves := func() {
		t.Helper()
		// What is sent alone may still fit, and upkeep may make room by packing what was written before; the rest
		// stays pending.
		if err := c.Settle(ctx, "full"); err != nil {
			noRoom(err)
		}
		if l, err := c.GetLedger(ctx, "full"); err != nil || l.GetLedger().GetPosition() < acknowledged ||
			l.GetLedger().GetTotalCount()+uint64(len(c.Pending("full"))) != taken {
			t.Fatalf("ledger: %v, %v; want %d, of which %d are pending", l, err, taken, len(c.Pending("full")))
		}
		if _, err := c.Query(ctx, "full", client.Delta(1e-6)); err != nil {
			t.Fatal(err)
		}
	}
	serves()

	// The limit is there from the start on; sh counts it in blocks of 512 bytes or of 1,024.
	again := func() {
		d = startBy(t, "sh", "-c", fmt.Sprintf(`ulimit -S -f %d; exec "$0" "$@"`, size/512), binary, "--listen", "",
			"--http", "", "--data", dir)
		d.limit(size)
	}
	d.stop(syscall.SIGTERM)
	again()
	serves()
	d.kill()
	again()
	serves()

	d.limit(0)
	if err := c.Settle(ctx, "full"); err != nil {
		t.Fatal(err)
	}
	if l, err := c.GetLedger(ctx, "full"); err != nil || l.GetLedger().GetTotalCount() != taken {
		t.Errorf("ledger: %v, %v; want all %d", l, err, taken)
	}
	d.stop(syscall.SIGTERM)
	verified(t, dir)
}

// A write within a commit fails: the daemon tells nobody that it succeeded and ends;
// the next one finds out, and the same charge is there once.
func TestFailedCommitEndsDaemon(t *testing.T) {
	dir := dataDir(t)
	d := start(t, dir)
	c, err := client.New(client.Config{Server: "unix:" + d.ready["socket"], MaxAttempts: 1, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx := patiently(t)
	if _, err := c.CreateLedger(ctx, &pb.LedgerSpec{Name: "a", Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}); err != nil {
		t.Fatal(err)
	}
	event := []*pb.Event{client.Event(client.Gaussian(2), 1)}
	if _, err := c.Report(ctx, "a", event, nil); err != nil {
		t.Fatal(err)
	}
	d.limit(4096) // the commit's pages are behind it, and have their room: no check can tell
	_, err = c.Report(ctx, "a", event, nil)
	var e *client.Error
	if !errors.As(err, &e) || e.Code != codes.Unavailable || !e.Unknown {
		t.Fatalf("%v; want an unknown outcome", err)
	}
	var exit *exec.ExitError
	if err := <-d.done; !errors.As(err, &exit) || exit.ExitCode() != 1 ||
		!strings.Contains(d.stderr.String(), "store failed") {
		t.Fatalf("%v\n%s; want exit status 1: store failed", err, d.stderr)
	}
	verified(t, dir)
	d = start(t, dir, "--http", "")
	if err := c.Settle(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if l, err := c.GetLedger(ctx, "a"); err != nil || l.GetLedger().GetPosition() != 2 {
		t.Errorf("%v, %v; want 2 entries", l, err)
	}
	d.stop(syscall.SIGTERM)
	verified(t, dir)
}
