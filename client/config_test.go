// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
		bad  string // part of the error; empty: accepted
	}{
		{"zero", Config{}, ""},
		{"socket", Config{Server: "unix:/run/accountant.sock"}, ""},
		{"loopback", Config{Server: "[::1]:1"}, ""},
		{"localhost", Config{Server: "localhost:7878"}, ""},
		{"tls", Config{Server: "example.org:443", TLS: &tls.Config{}}, ""},
		{"insecure", Config{Server: "example.org:80", Insecure: true}, ""},
		{"plain elsewhere", Config{Server: "example.org:80"}, "without TLS"},
		{"plain to all", Config{Server: "0.0.0.0:80"}, "without TLS"},
		{"looks local", Config{Server: "127.0.0.1.example.org:80"}, "without TLS"},
		{"no port", Config{Server: "localhost"}, "HOST:PORT"},
		{"no host", Config{Server: ":7878"}, "HOST:PORT"},
		{"no path", Config{Server: "unix:"}, "unix:PATH"},
		{"principal", Config{Principal: "a b"}, `"a b"`},
		{"long principal", Config{Principal: strings.Repeat("a", 129)}, "128 bytes"},
		{"timeout", Config{Timeout: -1}, "timeout"},
		{"attempts", Config{MaxAttempts: -1}, "max attempts"},
		{"backoff", Config{BackoffMin: 2, BackoffMax: 1}, "backoff"},
		{"window", Config{Window: -1}, "window"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := New(tc.cfg)
			if tc.bad == "" {
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tc.bad) {
				t.Errorf("%v; want %q in it", err, tc.bad)
			}
		})
	}
}

func TestWritersDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 10 {
		c, err := New(Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		seen[c.Writer()] = true
	}
	if len(seen) != 10 {
		t.Errorf("%d different writers of 10 clients", len(seen))
	}
}

func TestPauseStaysInItsRange(t *testing.T) {
	c := &Client{cfg: Config{BackoffMin: 50 * time.Millisecond, BackoffMax: 5 * time.Second}}
	for n := 1; n < 100; n++ {
		full := 5 * time.Second
		if n < 8 { // 50 ms · 2^7 > 5 s
			full = min(full, 50*time.Millisecond<<(n-1))
		}
		if d := c.pause(n); d < full/2 || d > full {
			t.Errorf("pause(%d) = %v, want %v to %v", n, d, full/2, full)
		}
	}
	c.cfg = Config{BackoffMin: time.Hour, BackoffMax: 1 << 62}
	for n := 1; n < 100; n++ {
		if d := c.pause(n); d < time.Hour/2 {
			t.Errorf("pause(%d) = %v", n, d)
		}
	}
}

// A daemon that says when to come back is left alone for that long, within reason.
func TestPauseOnWish(t *testing.T) {
	refused := func(after time.Duration) error {
		s, err := status.New(codes.Unavailable,
			"busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(after)})
		if err != nil {
			t.Fatal(err)
		}
		return s.Err()
	}
	for after, least := range map[time.Duration]time.Duration{
		160 * time.Millisecond: 160 * time.Millisecond, 10 * time.Hour: longestWish, -time.Second: 0, 0: 0} {
		if d := wishedPause(refused(after)); d < least || d > least*3/2+1 {
			t.Errorf("asked for %v: %v; want from %v to half as much again", after, d, least)
		}
	}
	if d := wishedPause(status.Error(codes.Unavailable, "gone")); d != 0 {
		t.Errorf("nothing was asked for: %v", d)
	}
}

// TestFreezeCharge: the bytes that are put together by hand are those of the
// protobuf library.
func TestFreezeMessage(t *testing.T) {
	events, _ := oneStep(1)
	for _, n := range []uint64{1, 127, 128, 1 << 40, 1<<64 - 1} {
		for _, labels := range []map[string]string{nil, {"n": strings.Repeat("x", 200)}} {
			charge := &pb.Charge{Events: events, Labels: labels}
			reserve := &pb.Reserve{Events: events, Labels: labels, LifetimeSeconds: 60}
			commit := &pb.Commit{Reservation: 7, Events: events, Labels: labels}
			release := &pb.Release{Reservation: 7, Reason: labels["n"]}
			for _, c := range []struct {
				write Write
				want  *pb.ReportStreamRequest
			}{
				{Write{Action: charge}, &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
					Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: n, Charge: charge}}}},
				{Write{Action: reserve}, &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Reserve{
					Reserve: &pb.ReportStreamRequest_SequencedReserve{Sequence: n, Reserve: reserve}}}},
				{Write{Action: commit}, &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Commit{
					Commit: &pb.ReportStreamRequest_SequencedCommit{Sequence: n, Commit: commit}}}},
				{Write{Action: release}, &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Release{
					Release: &pb.ReportStreamRequest_SequencedRelease{Sequence: n, Release: release}}}},
			} {
				field, body := c.write.streamed()
				content, err := freeze("", "", body)
				if err != nil {
					t.Fatal(err)
				}
				frozen := freezeMessage(field, n, content)
				var got pb.ReportStreamRequest
				if err := (proto.UnmarshalOptions{}).Unmarshal(frozen, &got); err != nil {
					t.Fatal(err)
				}
				if !proto.Equal(&got, c.want) {
					t.Errorf("%v, want %v", &got, c.want)
				}
				sameWrite(t, thawMessage(frozen), c.write)
			}
		}
	}
}

// What is frozen for a unary call can be read again, of every action.
func TestContentOf(t *testing.T) {
	events, labels := oneStep(1)
	for _, w := range []Write{
		{Action: &pb.Charge{Events: events, Labels: labels}}, {Action: &pb.Charge{}},
		{Action: &pb.Close{Reason: "over"}},
		{Action: &pb.Reserve{Events: events, LifetimeSeconds: 9}},
		{Action: &pb.Commit{Reservation: 3, Events: events}},
		{Action: &pb.Release{Reservation: 3}}, {Action: &pb.Expire{Reservation: 3}},
		{Action: &pb.Free{Reservation: 3, Reason: "died", NothingReleased: true}},
		{Action: &pb.Refund{Position: 3, Reason: "crashed", NothingReleased: true}},
		{Action: &pb.Raise{Reason: "more"}},
		{Action: &pb.Charge{Events: events}, Ledgers: &pb.LedgerSet{Ledgers: []string{"a", "b"}},
			Contribution: pb.SetPart_OVER_ALL},
	} {
		it, err := freezeItem("", "a", "w", 5, w)
		if err != nil {
			t.Fatal(err)
		}
		sameWrite(t, contentOf(it), w)
	}
}

func sameWrite(t *testing.T, got, want Write) {
	t.Helper()
	if got.Contribution != want.Contribution || !proto.Equal(got.Ledgers, want.Ledgers) ||
		!proto.Equal(got.Action, want.Action) {
		t.Errorf("%v, want %v", got, want)
	}
}
