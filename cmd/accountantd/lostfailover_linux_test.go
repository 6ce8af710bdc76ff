// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// An asynchronous standby takes over that lacks 21 acknowledged charges, as in a failover that nobody wanted. Both
// daemons knew of them, and both say so, as does one that starts later: the ledger takes no charge, its answers are
// descriptive and name the loss, the log has an error, the metric and doctor tell. Another ledger goes on. Once the
// loss is reconciled, the answer is that of all charges.
func TestFailoverThatLostCharges(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t, pgtest.Config{Synchronous: true})
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = ''", "SELECT pg_reload_conf()"} {
		if err := primary.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	proxy, through := pgtest.NewProxy(t, primary.Database(t))
	fleet := []string{"--store", through, "--signing-key", filepath.Join(t.TempDir(), keyFile)}
	daemons := []*daemon{start(t, dataDir(t), fleet...), start(t, dataDir(t), fleet...)}
	ctl := accountctl(t)
	apis := []api.Client{dial(t, daemons[0].ready["listen"]), dial(t, daemons[1].ready["listen"])}
	report := func(api api.Client, name, key string) error {
		for {
			_, err := api.Report(patiently(t), &pb.ReportRequest{
				Lane:   &pb.Lane{Ledger: name, Writer: "request/" + key, Sequence: 1},
				Charge: charge(),
			})
			if status.Code(err) != codes.Unavailable {
				return err
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	epsilon := func(api api.Client) float64 {
		t.Helper()
		for {
			a, err := api.QueryPrivacy(patiently(t), &pb.QueryPrivacyRequest{
				Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "lost"},
				Given:   &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}})
			if err == nil {
				return a.GetEpsilon()
			}
			if status.Code(err) != codes.Unavailable {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	for _, name := range []string{"lost", "whole"} {
		create(t, apis[0], name)
	}
	for i := range 20 {
		if err := report(apis[i%2], "lost", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := report(apis[0], "whole", "0"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // until the standby has it
	if err := primary.Standby.Stop(); err != nil {
		t.Fatal(err)
	}
	for i := range 21 {
		if err := report(apis[i%2], "lost", fmt.Sprint(20+i)); err != nil {
			t.Fatal(err)
		}
	}
	before := epsilon(apis[1])
	primary.Kill()
	if err := primary.Standby.Start(); err != nil {
		t.Fatal(err)
	}
	if err := primary.Standby.Promote(); err != nil {
		t.Fatal(err)
	}
	proxy.Lead(primary.Standby)

	daemons = append(daemons, start(t, dataDir(t), fleet...)) // it knows nothing
	if err := report(apis[0], "whole", "1"); err != nil {
		t.Errorf("another ledger: %v", err)
	}
	for i, api := range append(apis, dial(t, daemons[2].ready["listen"])) {
		if e := epsilon(api); !(e < before) {
			t.Errorf("daemon %d answers %v, as before the loss; the test lost nothing", i, e)
		}
		l, err := api.GetLedger(patiently(t), &pb.GetLedgerRequest{Name: "lost"})
		if err != nil {
			t.Fatal(err)
		}
		if a := l.GetLedger().GetAssumptions(); !l.GetLedger().GetNeedsReconciling() || len(a) != 1 ||
			!a[0].GetDescriptive() || !strings.Contains(a[0].GetText(), "the newest is entry 41 ") {
			t.Errorf("daemon %d: %v", i, a)
		}
		if err := report(api, "lost", "again"); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("daemon %d takes a charge: %v", i, err)
		}
		if !daemons[i].shows("accountant_store_lost_ledgers 1") {
			t.Errorf("daemon %d: no metric", i)
		}
		s, err := api.GetStoreStatus(patiently(t), &pb.GetStoreStatusRequest{})
		if err != nil || !strings.Contains(strings.Join(s.GetWarnings(), " "), "lost (up to entry 41)") {
			t.Errorf("daemon %d: status says %v, %v", i, s.GetWarnings(), err)
		}
	}
	for i, d := range daemons {
		if told := strings.Contains(d.stderr.String(), "level=ERROR msg=\"the database has lost"); told != (i < 2) {
			t.Errorf("daemon %d: the log has an error: %v", i, told)
		}
	}
	if code, out := ctl("doctor", "--store", through); code != 1 || !strings.Contains(out, "lost (up to entry 41)") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
	if code, out := ctl("doctor", "--server", "unix:"+daemons[2].ready["socket"]); code != 0 ||
		!strings.Contains(out, "lost (up to entry 41)") {
		t.Errorf("doctor through a daemon: exit %d\n%s", code, out)
	}
	if _, page := daemons[0].web("/ledger?name=lost"); !strings.Contains(page, "has lost entries") {
		t.Errorf("the ledger's page does not say it:\n%s", page)
	}

	file := filepath.Join(t.TempDir(), "lost.json")
	text := `{"adjacency":"ADD_OR_REMOVE_ONE","events":[{"count":21,"mechanism":{"poisson_sampled":{` +
		`"sampling_probability":0.01,"mechanism":{"gaussian":{"noise_multiplier":1}}}}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out := ctl("ledger", "reconcile", "lost", "--charge", file, "--contribution", "over-all", "--server",
		"unix:"+daemons[2].ready["socket"]); code != 0 {
		t.Fatalf("reconcile: exit %d\n%s", code, out)
	}
	for i, api := range apis {
		if e := epsilon(api); e != before {
			t.Errorf("daemon %d answers %v after reconciling; want %v, that of 41 charges", i, e, before)
		}
		if !daemons[i].shows("accountant_store_lost_ledgers 0") {
			t.Errorf("daemon %d: the metric stays", i)
		}
	}
	if err := report(apis[0], "lost", "after"); err != nil {
		t.Error(err)
	}
	verifiedBackup(t, ctl, daemons[1])
}
