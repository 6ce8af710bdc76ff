// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// A database of which an old row is damaged that nobody reads is found damaged by a daemon by itself. All daemons tell
// so in metrics and when they are asked; what needs the row is refused, and everything else goes on, charges to the
// same ledger included. When the row is whole again they take it back.
func TestDamageInADatabaseIsFoundWhileServing(t *testing.T) {
	t.Parallel()
	testaid.Long(t, "a scrub goes through a database several times")
	url := pgtest.Database(t)
	key := filepath.Join(t.TempDir(), "signing.key")
	var daemons []*daemon
	for range 2 {
		daemons = append(daemons, start(t, dataDir(t), "--store", url, "--signing-key", key,
			"--scrub-interval", "20ms"))
	}
	api := dial(t, daemons[0].ready["listen"])
	report := func(name, writer string) {
		t.Helper()
		if _, err := api.Report(patiently(t), &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: name, Writer: writer, Sequence: 1},
			Charge: charge(),
		}); err != nil {
			t.Error(name, err)
		}
	}
	for _, name := range []string{"damaged", "whole"} {
		create(t, api, name)
		for _, writer := range []string{"request/one", "request/two", "request/three"} {
			report(name, writer)
		}
	}
	const flip = "UPDATE tail SET value = set_byte(value, length(value) - 1, " +
		"get_byte(value, length(value) - 1) # 1) WHERE last = 1 " +
		"AND number = (SELECT number FROM ledgers WHERE name = 'damaged')"
	execute := func(sql string) {
		t.Helper()
		ctx := patiently(t)
		c, err := reach.Address{URL: url}.Connect(ctx, "test", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(ctx) }()
		if _, err := c.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	await := func(metric, damage string) {
		t.Helper()
		for _, d := range daemons {
			api := dial(t, d.ready["listen"])
			for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
				_, metrics := d.web("/metrics")
				answer, err := api.GetStoreStatus(patiently(t), &pb.GetStoreStatusRequest{})
				if err != nil {
					t.Fatal(err)
				}
				v := answer.GetLastVerification()
				if strings.Contains(metrics, "\naccountant_store_damaged "+metric+"\n") && v.GetBytes() > 0 &&
					(v.GetDamage() != "") == (damage != "") && strings.Contains(v.GetDamage(), damage) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%v; want damage %q and the metric %s\n%s", v, damage, metric, d.stderr)
				}
			}
		}
	}
	await("0", "")
	execute(flip)
	await("1", "ledger damaged: ")
	for _, d := range daemons {
		if code, body := d.web("/healthz"); code != http.StatusOK {
			t.Errorf("healthz: %d %s", code, body)
		}
	}
	report("whole", "request/four")
	report("damaged", "request/four")
	if _, err := api.ListEntries(patiently(t), &pb.ListEntriesRequest{Ledger: "damaged"}); status.Code(err) !=
		codes.DataLoss {
		t.Errorf("what needs the damaged row: %v", err)
	}
	log := daemons[0].stderr.String() + daemons[1].stderr.String()
	if !strings.Contains(log, "the database is damaged") {
		t.Errorf("log: %s", log)
	}
	execute(flip)
	await("0", "")
}
