// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
)

// What a database promises is said by its settings, never more than they promise.
func TestPromises(t *testing.T) {
	for _, c := range []struct {
		p       inspect.Promises
		says    string
		primary bool // its loss is survived
	}{
		{p: inspect.Promises{Fsync: true, FullPageWrites: true}, says: "can be lost with its machine"},
		{p: inspect.Promises{Fsync: true, FullPageWrites: true, SynchronousStandbys: "ANY 1 (*)", Synchronous: 2,
			SeesStandbys: true},
			says: "survives the loss of the primary", primary: true},
		{p: inspect.Promises{Fsync: false, FullPageWrites: true}, says: "may lose or damage"},
		{p: inspect.Promises{Fsync: true, FullPageWrites: false}, says: "may lose or damage"},
	} {
		got := strings.Join(promises(c.p), "\n")
		if !strings.Contains(got, c.says) ||
			strings.Contains(got, "survives a crash") != (c.p.Fsync && c.p.FullPageWrites) ||
			strings.Contains(got, "survives the loss") != c.primary {
			t.Errorf("%+v: %s", c.p, got)
		}
	}
}
