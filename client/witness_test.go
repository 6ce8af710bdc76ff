// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// witnessed runs a server, of which the first entry came from a client that is
// gone, and a client with an open stream, of which the second to fourth came.
func witnessed(t *testing.T) (*servertest.Server, *client.Client, *client.Stream, []byte) {
	t.Helper()
	s := servertest.Start(t)
	s.NewLedger("a")
	if _, err := connect(t, s, client.Config{}).Report(t.Context(), "a", step, nil); err != nil {
		t.Fatal(err)
	}
	var before []byte
	s.RestartAfter(func(path string) {
		var err error
		if before, err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	})
	c := connect(t, s, client.Config{})
	lane, err := c.Stream(servertest.Context(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if err := lane.Report(servertest.Context(t), step,
			map[string]string{"n": "charge-that-was-written", "i": string(rune('0' + n))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := lane.Flush(servertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	return s, c, lane, before
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantLost checks that a stream and those after it end with ErrLost, after one
// attempt, and nothing is written.
func wantLost(t *testing.T, s *servertest.Server, c *client.Client, lane *client.Stream, position uint64, says string) {
	t.Helper()
	_ = lane.Report(servertest.Context(t), step, nil) // or it has ended already
	err := lane.Close(servertest.Context(t))
	var e *client.Error
	if !errors.As(err, &e) || !errors.Is(err, client.ErrLost) || e.Code != codes.DataLoss ||
		!strings.Contains(e.Message, says) {
		t.Fatalf("stream: %v; want ErrLost with %q", err, says)
	}
	if st := lane.Status(); st.Connections != 1 {
		t.Errorf("%+v; want that it was opened once", st)
	}
	if len(c.Pending("a")) == 0 { // else the next call settles it first
		if _, err := c.Stream(servertest.Context(t), "a"); !errors.Is(err, client.ErrLost) {
			t.Errorf("another stream: %v; want ErrLost", err)
		}
	}
	if got := s.Position("a"); got != position {
		t.Errorf("position %d; want %d", got, position)
	}
}

// An older copy of the file is put back under a client: it does not go on as if
// nothing had happened.
func TestRollbackIsNoticed(t *testing.T) {
	s, c, lane, before := witnessed(t)
	s.RestartAfter(func(path string) { write(t, path, before) })
	wantLost(t, s, c, lane, 1, "found no entry there")
}

// Then others write, until the ledger is longer than it was.
func TestAnotherHistoryIsNoticed(t *testing.T) {
	s, c, lane, before := witnessed(t)
	if err := lane.Close(servertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	s.RestartAfter(func(path string) { write(t, path, before) })
	for range 9 {
		if _, err := connect(t, s, client.Config{}).Report(servertest.Context(t), "a", step, nil); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.Stream(servertest.Context(t), "a")
	if !errors.Is(err, client.ErrLost) || !strings.Contains(err.Error(), "found one with hash") {
		t.Errorf("stream: %v; want ErrLost", err)
	}
	if got := s.Position("a"); got != 10 {
		t.Errorf("position %d; want 10", got)
	}
}

// A record is edited in the file of a server that runs. One that starts would refuse it.
func TestEditedRecordIsNoticed(t *testing.T) {
	s, c, lane, _ := witnessed(t)
	if err := lane.Close(servertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	var path string
	s.RestartAfter(func(p string) { path = p })
	s.Damages()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	written, edited := []byte("charge-that-was-written"), 0
	for at := 0; ; edited++ {
		next := bytes.Index(content[at:], written)
		if next < 0 {
			break
		}
		at += next + len(written)
		if _, err := file.WriteAt([]byte("!"), int64(at-1)); err != nil {
			t.Fatal(err)
		}
	}
	if edited == 0 {
		t.Fatal("nothing was edited")
	}
	_, err = c.Stream(servertest.Context(t), "a")
	if !errors.Is(err, client.ErrLost) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("stream: %v; want ErrLost", err)
	}
}

// The store's lane agrees with the client's after a restart, and it goes on, with
// what unary calls were answered as its newest receipt too.
func TestHealthyRestartIsNoLoss(t *testing.T) {
	s, c, lane, _ := witnessed(t)
	s.Restart()
	if err := lane.Report(servertest.Context(t), step, nil); err != nil {
		t.Fatal(err)
	}
	if err := lane.Close(servertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	if st := lane.Status(); st.Connections != 2 || st.Acknowledged != 4 {
		t.Errorf("%+v; want two connections and 4 acknowledged", st)
	}
	if _, err := c.Report(servertest.Context(t), "a", step, nil); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	again, err := c.Stream(servertest.Context(t), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(servertest.Context(t)); err != nil {
		t.Error(err)
	}
	if got := s.Position("a"); got != 6 {
		t.Errorf("position %d; want 6", got)
	}
}

// Unary calls carry the newest receipt too, on each connection the first: a rollback
// is noticed, and what is not is not in the way.
func TestUnaryCallsNoticeARollback(t *testing.T) {
	s, c, lane, before := witnessed(t)
	if err := lane.Close(servertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.Report(servertest.Context(t), "a", step, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.Restart()
	if _, err := c.Report(servertest.Context(t), "a", step, nil); err != nil {
		t.Fatal(err)
	}
	s.RestartAfter(func(path string) { write(t, path, before) })
	if _, err := c.Report(servertest.Context(t), "a", step, nil); !errors.Is(err, client.ErrLost) ||
		!strings.Contains(err.Error(), "found no entry there") {
		t.Errorf("%v; want ErrLost", err)
	}
	if got := s.Position("a"); got != 1 {
		t.Errorf("position %d; want 1", got)
	}
}

// What unary calls were answered is a witness for the stream opened after them.
func TestUnaryReceiptIsAWitness(t *testing.T) {
	s, _, _, before := witnessed(t)
	c := connect(t, s, client.Config{})
	if _, err := c.Report(servertest.Context(t), "a", step, nil); err != nil {
		t.Fatal(err)
	}
	s.RestartAfter(func(path string) { write(t, path, before) })
	if _, err := c.Stream(servertest.Context(t), "a"); !errors.Is(err, client.ErrLost) ||
		!strings.Contains(err.Error(), "position 5") {
		t.Errorf("stream: %v; want ErrLost at position 5", err)
	}
}
