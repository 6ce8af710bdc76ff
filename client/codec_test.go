// SPDX-License-Identifier: Apache-2.0

package client

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func TestFreezeChargeIsProtobufs(t *testing.T) {
	events := []*pb.Event{Event(PoissonSampled(0.5, Gaussian(2)), 3), Event(Gaussian(1), 1)}
	for _, c := range []*pb.Charge{
		{}, {Events: events}, {Labels: map[string]string{"a": "b"}},
		{Events: events, Labels: map[string]string{"": "", "run": "", "long": strings.Repeat("é", 100), "x": "y"}},
		{Events: events, Labels: map[string]string{"a": "\xff"}}, {Labels: map[string]string{"\xff": "a"}},
		{Labels: map[string]string{"a": strings.Repeat("b", maxMessage)}},
	} {
		got, err := freezeCharge("op", "ledger", c)
		_, wantErr := freeze("op", "ledger", c)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("error %v; package proto's: %v", err, wantErr)
		}
		if err != nil {
			continue
		}
		var back pb.Charge
		if err := proto.Unmarshal(got, &back); err != nil || !proto.Equal(&back, c) {
			t.Errorf("%v, %v; want %v", &back, err, c)
		}
	}
}

// Several writers share a connection; closing one leaves it to the others.
func TestNewWriter(t *testing.T) {
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.NewWriter()
	if err != nil {
		t.Fatal(err)
	}
	if w.Writer() == c.Writer() || w.conn != c.conn {
		t.Errorf("writers %s and %s, connections %p and %p; want two writers on one connection", w.Writer(),
			c.Writer(), w.conn, c.conn)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if state := c.conn.GetState().String(); state == "SHUTDOWN" {
		t.Error("closing a writer ended the connection it shares")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if state := w.conn.GetState().String(); state != "SHUTDOWN" {
		t.Errorf("connection %s after its owner was closed; want SHUTDOWN", state)
	}
}
