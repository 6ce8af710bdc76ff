// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"testing"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// BenchmarkStreamReport is one charge on one stream, client and server in one
// process over loopback, durable.
func BenchmarkStreamReport(b *testing.B) {
	s := servertest.Start(b)
	s.NewLedger("a")
	c := connect(b, s, client.Config{})
	lane, err := c.Stream(context.Background(), "a")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := lane.Report(context.Background(), step, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := lane.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
