// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// beforeAnswer is a connection that calls lose, once it is set, when the first answer to a call begins to arrive,
// and breaks.
type beforeAnswer struct {
	net.Conn
	lose *atomic.Pointer[func()]
	rest bytes.Reader // of the frame that is being read
}

// Read passes on what the server sends, one frame of HTTP/2 after the other.
func (c *beforeAnswer) Read(b []byte) (int, error) {
	if c.rest.Len() == 0 {
		const header, headers = 9, 1 // the length of a frame's header, and the type of frames with which answers begin
		frame := make([]byte, header)
		if _, err := io.ReadFull(c.Conn, frame); err != nil {
			return 0, err
		}
		if frame[3] == headers {
			if lose := c.lose.Swap(nil); lose != nil {
				(*lose)()
				return 0, io.ErrUnexpectedEOF
			}
		}
		frame = append(frame, make([]byte, int(frame[0])<<16|int(frame[1])<<8|int(frame[2]))...)
		if _, err := io.ReadFull(c.Conn, frame[header:]); err != nil {
			return 0, err
		}
		c.rest.Reset(frame)
	}
	return c.rest.Read(b)
}

// The daemon is killed before it reads a charge to a set, after it has written it and before it answers, and at
// moments in between; the first charges make a journal each. The client tries again by itself, and the charge is
// made once, in all of its ledgers, as its receipt says.
func TestSetKilledAtEachMoment(t *testing.T) {
	dir := dataDir(t)
	d := start(t, dir)
	socket := d.ready["socket"]
	direct := dial(t, "unix:"+socket)
	names := []string{"m/1", "m/2", "m/3", "m/4"}
	for _, name := range names {
		create(t, direct, name)
	}
	var lose atomic.Pointer[func()]
	through := func() *client.Client {
		c, err := client.New(client.Config{Server: "unix:" + socket, BackoffMin: 5 * time.Millisecond,
			BackoffMax: 20 * time.Millisecond, DialOptions: []grpc.DialOption{grpc.WithContextDialer(
				func(ctx context.Context, _ string) (net.Conn, error) {
					conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
					if err != nil {
						return nil, err
					}
					return &beforeAnswer{Conn: conn, lose: &lose}, nil
				})}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	events := []*pb.Event{{Count: 1, Mechanism: &pb.Mechanism{
		Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: proto.Float64(0.1)}}}}}
	used := map[uint8]bool{}
	newKey := func(i int) string {
		for n := 0; ; n++ {
			key := fmt.Sprintf("moment-%d-%d", i, n)
			if of := ledger.JournalOf("request/" + key); len(used) == ledger.Journals || !used[of] {
				used[of] = true
				return key
			}
		}
	}
	const moments = 28
	charged, replayed := 0, 0
	for i := range moments {
		key, c := newKey(i), through()
		killed := make(chan struct{})
		again := func() {
			d.kill()
			close(killed)
		}
		type answer struct {
			*pb.WriteResponse
			err error
		}
		answers := make(chan answer, 1)
		report := func() {
			a, err := c.Range("m/", "", "").ReportOnce(patiently(t), key, pb.SetPart_OVER_ALL, events, nil)
			answers <- answer{a, err}
		}
		switch i % 4 {
		case 0: // before the request is read
			if err := d.command.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			go report()
			time.Sleep(5 * time.Millisecond)
			again()
		case 1: // after the write and before the answer
			lose.Store(&again)
			go report()
		default:
			go report()
			time.Sleep(time.Duration(i) * 400 * time.Microsecond)
			again()
		}
		<-killed
		d = start(t, dir)
		got := <-answers
		if charged++; got.err != nil || len(got.GetReceipt().GetMembers()) != len(names) {
			t.Fatalf("moment %d: %v, %v", i, got.WriteResponse, got.err)
		}
		if got.GetReplayed() {
			replayed++
		} else if i%4 == 1 {
			t.Errorf("moment %d: the charge was written, its answer lost, and it was charged again: %v", i, got)
		}
		later, err := through().Range("m/", "", "").ReportOnce(patiently(t), key, pb.SetPart_OVER_ALL, events, nil)
		if err != nil || !later.GetReplayed() || !proto.Equal(later.GetReceipt(), got.GetReceipt()) {
			t.Errorf("moment %d: %v, %v; first %v", i, later, err, got.GetReceipt())
		}
		for _, name := range names {
			l, err := direct.GetLedger(patiently(t), &pb.GetLedgerRequest{Name: name})
			if err != nil || l.GetLedger().GetTotalCount() != uint64(charged) {
				t.Fatalf("moment %d: %s: %v, %v; want %d charges", i, name, l, err, charged)
			}
		}
	}
	d.kill()
	verified(t, dir)
	t.Logf("%d charges, of which %d had been written when the daemon was killed", charged, replayed)
}
