// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/client"
	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// The daemon must stay below readersLimit whatever its readers do. Where the kernel sets such a limit, the daemon has
// its garbage collector keep below it by itself (TestMemoryLimit); a test may set none, so it says so by GOMEMLIMIT.
const (
	readersLimit = 512 << 20
	goMemLimit   = "GOMEMLIMIT=460MiB"
)

// TestReaders asks a daemon for more than its memory holds, in all the ways that it answers, and for more
// reports than it writes at once, and looks at its peak of
// anonymous memory. It asks in all ways if ACCOUNTANT_READERS=all (make readers), and otherwise in the two that took
// most. docs/operations.md has the figures.
func TestReaders(t *testing.T) {
	testaid.Long(t, "it fills the memory that a daemon may have")
	if testaid.Raced {
		t.Skip("the memory of a daemon under the race detector is not that of a daemon")
	}
	dir := dataDir(t)
	fillForReaders(t, dir)
	entries := &pb.ListEntriesRequest{Ledger: "large", PageSize: 1000, Raw: true}
	ledgers := &pb.ListLedgersRequest{PageSize: 1000}
	for _, c := range []struct {
		name   string
		always bool
		ask    func(*testing.T, *daemon)
	}{
		{"100 lists of entries", true, func(t *testing.T, d *daemon) {
			askAtOnce(t, d, 100, pb.Audit_ListEntries_FullMethodName, entries)
		}},
		{"200 lists of ledgers", false, func(t *testing.T, d *daemon) {
			askAtOnce(t, d, 200, pb.Ledgers_ListLedgers_FullMethodName, ledgers)
		}},
		{"120 lists of ledgers as JSON", false, func(t *testing.T, d *daemon) {
			askAsJSON(t, d, 120, "Ledgers/ListLedgers", `{"pageSize":1000}`)
		}},
		{"120 lists of entries as JSON", !testing.Short(), func(t *testing.T, d *daemon) {
			askAsJSON(t, d, 120, "Audit/ListEntries", `{"ledger":"large","pageSize":1000,"raw":true}`)
		}},
		{"300 lists that nobody reads", false, func(t *testing.T, d *daemon) {
			ctx, cancel := context.WithCancel(patiently(t))
			defer cancel()
			var all sync.WaitGroup
			conns := connections(t, d, 30)
			for i := range 300 {
				all.Go(func() {
					openUnread(ctx, conns[i%len(conns)], pb.Audit_ListEntries_FullMethodName, entries)
				})
			}
			all.Wait()
			// Who reads is answered all the same: the share of the others is bounded.
			awaitAnswer(t, dial(t, d.ready["listen"]))
		}},
		{"600 watchers, 10,000 streams and 300 lists", false, crowdOfReaders},
		{"1,000 streams of 2,000 reports at once", false, flood},
		{"4,000 streams of a report of 1,000 events", false, floodOfEvents},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.always && os.Getenv("ACCOUNTANT_READERS") != "all" {
				t.Skip("ACCOUNTANT_READERS=all asks in this way too")
			}
			command := exec.Command(binary, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", dir)
			command.Env = append(os.Environ(), goMemLimit)
			d := startCommand(t, command)
			peak := watchMemory(t, d)
			c.ask(t, d)
			if got := peak(); got >= readersLimit {
				t.Errorf("%d MiB of anonymous memory; want less than %d", got>>20, readersLimit>>20)
			} else {
				t.Logf("%d MiB of anonymous memory", got>>20)
			}
			d.stop(syscall.SIGTERM)
		})
	}
}

// flood reports to many ledgers faster than the daemon writes.
func flood(t *testing.T, d *daemon) {
	c, err := client.New(client.Config{Server: d.ready["listen"]})
	if err != nil {
		t.Fatal(err)
	}
	event := []*pb.Event{client.Event(client.Gaussian(2), 1)}
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			ctx := patiently(t)
			stream, err := c.Stream(ctx, fmt.Sprintf("many/%d", i))
			if err != nil {
				t.Error(err)
				return
			}
			for range 2000 {
				if err := stream.Report(ctx, event, nil); err != nil {
					t.Error(err)
					return
				}
			}
			if err := stream.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// openStream opens the i-th of many streams, to one of a thousand ledgers.
func openStream(ctx context.Context, conns []*grpc.ClientConn, i int) (pb.Charges_ReportStreamClient, error) {
	stream, err := api.NewClient(conns[i%len(conns)]).ReportStream(ctx)
	if err == nil {
		err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
			Open: &pb.ReportStreamRequest_Open{Ledger: fmt.Sprintf("many/%d", i%1000), Writer: uuid.NewString()}}})
	}
	if err == nil {
		_, err = stream.Recv()
	}
	return stream, err
}

// floodOfEvents sends a report that takes much memory into each of many streams at once.
func floodOfEvents(t *testing.T, d *daemon) {
	conns, report := connections(t, d, 40), charge()
	for n := range uint32(999) {
		report.Events = append(report.Events, &pb.Event{Count: 1 + n, Mechanism: report.GetEvents()[0].GetMechanism()})
	}
	var opened, all sync.WaitGroup
	for i := range 4000 {
		opened.Add(1)
		all.Go(func() {
			stream, err := openStream(patiently(t), conns, i)
			opened.Done()
			opened.Wait()
			if err == nil {
				err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
					Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: 1, Charge: report}}})
			}
			var answer *pb.ReportStreamResponse
			if err == nil {
				answer, err = stream.Recv()
			}
			if err != nil || answer.GetAcknowledged() == nil {
				t.Errorf("%v, %v", answer, err)
			}
		})
	}
	all.Wait()
}

// fillForReaders makes ledgers and entries of which many fill a page of a list.
func fillForReaders(t *testing.T, dir string) {
	t.Helper()
	d := start(t, dir)
	client := dial(t, d.ready["listen"])
	labels := map[string]string{}
	for i := range 12 {
		labels[fmt.Sprintf("label-%d", i)] = strings.Repeat("x", 256)
	}
	var all sync.WaitGroup
	for worker := range 32 {
		all.Go(func() {
			for i := worker; i < 1000; i += 32 {
				_, err := client.CreateLedger(patiently(t), &pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{
					Name: fmt.Sprintf("many/%d", i), Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Labels: labels}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	create(t, client, "large")
	for worker := range 16 {
		all.Go(func() {
			for i := range 20 {
				c := charge()
				for n := range 800 {
					z := 1 + float64(n%7)
					c.Events = append(c.Events, &pb.Event{Count: 1, Mechanism: &pb.Mechanism{
						Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &z}}}})
				}
				_, err := client.Report(patiently(t), &pb.ReportRequest{
					Lane: &pb.Lane{Ledger: "large", Sequence: uint64(i + 1),
						Writer: fmt.Sprintf("%08d-0000-4000-8000-000000000000", worker)},
					Charge: c,
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	d.stop(syscall.SIGTERM)
}

var rssAnon = regexp.MustCompile(`RssAnon:\s+(\d+) kB`)

// anonymous is the memory of a process that is of no file, in bytes.
func anonymous(t *testing.T, d *daemon) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.command.Process.Pid))
	found := rssAnon.FindSubmatch(b)
	if err != nil || found == nil {
		return 0
	}
	kib, _ := strconv.Atoi(string(found[1]))
	return kib << 10
}

// watchMemory looks at a daemon's anonymous memory until the function that it returns is called.
func watchMemory(t *testing.T, d *daemon) (peak func() int) {
	t.Helper()
	enough, most := make(chan struct{}), make(chan int)
	go func() {
		highest := 0
		for {
			select {
			case most <- highest:
				return
			case <-enough:
			case <-time.After(2 * time.Millisecond):
			}
			highest = max(highest, anonymous(t, d))
		}
	}()
	return func() int { close(enough); return <-most }
}

// connections opens connections to a daemon.
func connections(t *testing.T, d *daemon, n int) (list []*grpc.ClientConn) {
	t.Helper()
	for range n {
		conn, err := grpc.NewClient(d.ready["listen"], grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10),
			grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(1<<20))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		list = append(list, conn)
	}
	return list
}

// unread is a codec that leaves answers as they are: the test is not to need the memory that the daemon must not.
type unread struct{}

func (unread) Name() string { return "proto" }
func (unread) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}
func (unread) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*int) = data.Len()
	return nil
}

// comeBack reports whether a call was asked to come back, and by when.
func comeBack(err error) bool {
	return status.Code(err) == codes.ResourceExhausted && len(status.Convert(err).Details()) > 0
}

// askAtOnce asks n times at once, and each again until it is answered.
func askAtOnce(t *testing.T, d *daemon, n int, method string, request proto.Message) {
	t.Helper()
	conns := connections(t, d, 10)
	var all sync.WaitGroup
	var refused, bytes atomic.Int64
	for i := range n {
		all.Go(func() {
			for {
				size := 0
				err := conns[i%len(conns)].Invoke(patiently(t), method, request, &size, grpc.ForceCodecV2(unread{}),
					grpc.MaxCallRecvMsgSize(16<<20))
				bytes.Add(int64(size))
				if err == nil {
					return
				}
				if !comeBack(err) {
					t.Error(err)
					return
				}
				refused.Add(1)
				time.Sleep(200 * time.Millisecond)
			}
		})
	}
	all.Wait()
	t.Logf("%d answers with %d MiB; %d times asked to come back", n, bytes.Load()>>20, refused.Load())
}

func askAsJSON(t *testing.T, d *daemon, n int, method, body string) {
	t.Helper()
	var all sync.WaitGroup
	var refused, bytes atomic.Int64
	for range n {
		all.Go(func() {
			for {
				answer, err := http.Post("http://"+d.ready["http"]+"/accountant.v1."+method,
					"application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				size, _ := io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				bytes.Add(size)
				if answer.StatusCode == http.StatusOK {
					return
				}
				if answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
					t.Errorf("%s, Retry-After %q", answer.Status, answer.Header.Get("Retry-After"))
					return
				}
				refused.Add(1)
				time.Sleep(200 * time.Millisecond)
			}
		})
	}
	all.Wait()
	t.Logf("%d answers with %d MiB; %d times asked to come back", n, bytes.Load()>>20, refused.Load())
}

// openUnread makes a call and never reads its answer.
func openUnread(ctx context.Context, conn *grpc.ClientConn, method string, request proto.Message) {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(unread{}))
	if err == nil && stream.SendMsg(request) == nil {
		_ = stream.CloseSend()
		time.Sleep(2 * time.Second) // in which the daemon makes it
	}
}

// awaitAnswer asks for a small list until there is an answer.
func awaitAnswer(t *testing.T, client api.Client) {
	t.Helper()
	for ctx := patiently(t); ; time.Sleep(100 * time.Millisecond) {
		_, err := client.ListLedgers(ctx, &pb.ListLedgersRequest{PageSize: 10})
		if err == nil {
			return
		}
		if !comeBack(err) {
			t.Fatal(err)
		}
	}
}

// crowdStreams is how many report streams are open at once.
const crowdStreams = 10_000

// crowdOfReaders is what a daemon must serve at once.
func crowdOfReaders(t *testing.T, d *daemon) {
	ctx, cancel := context.WithCancel(patiently(t))
	defer cancel()
	conns := connections(t, d, 100)
	before := anonymous(t, d)
	var opened sync.WaitGroup
	for i := range crowdStreams {
		opened.Go(func() {
			if _, err := openStream(ctx, conns, i); err != nil {
				t.Error(err)
			}
		})
	}
	opened.Wait()
	streams := anonymous(t, d)
	for i := range 600 {
		opened.Go(func() {
			stream, err := api.NewClient(conns[i%len(conns)]).WatchLedger(ctx,
				&pb.WatchLedgerRequest{Name: fmt.Sprintf("many/%d", i)})
			if err == nil {
				_, err = stream.Recv()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	opened.Wait()
	watchers := anonymous(t, d)
	t.Logf("a stream takes %.1f KiB, a watcher %.1f KiB", float64(streams-before)/crowdStreams/1024,
		float64(watchers-streams)/600/1024)
	opened.Go(func() {
		askAtOnce(t, d, 150, pb.Audit_ListEntries_FullMethodName, &pb.ListEntriesRequest{Ledger: "large",
			PageSize: 1000, Raw: true})
	})
	opened.Go(func() {
		askAtOnce(t, d, 150, pb.Ledgers_ListLedgers_FullMethodName, &pb.ListLedgersRequest{PageSize: 1000})
	})
	opened.Wait()
}
