// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Alerts and the page that explains them are about metrics that there are.
func TestAlertsNameMetrics(t *testing.T) {
	t.Parallel()
	issuer := bearertest.New(t)
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0", Issuers: []bearer.Issuer{
		{URL: issuer.URL, Keys: issuer.Keys, Audiences: []string{bearertest.Audience}}}}})
	s.Create(servertest.Filter("limited", servertest.Basic(1)))
	s.NewLedger("free")
	stream := s.Stream("limited", servertest.Writer())
	stream.Charge(1, one) // not a guarantee: refused
	stream.Rejected()
	if _, err := s.Client.QueryPrivacy(servertest.Context(t), &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "free"},
		Given:   &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}}); err != nil {
		t.Fatal(err)
	}
	_, shown := get(t, "http://"+s.HTTPAddr+"/metrics")
	// Of metrics that only some stores have, the sources tell.
	for _, file := range []string{"shared.go", "replication.go", "merging.go", "archive.go", "cooling.go"} {
		database, err := os.ReadFile("../../cmd/accountantd/" + file)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(database)
	}
	name := regexp.MustCompile(`\b(accountant|grpc_server|process)_[a-z_]+`)
	for _, file := range []string{"../../deploy/alerts.yml", "../../deploy/grafana.json", "../../docs/operations.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := name.FindAllString(string(text), -1)
		if len(found) < 10 {
			t.Errorf("%s names %q: too few", file, found)
		}
		for _, metric := range found {
			if !strings.Contains(shown, metric) {
				t.Errorf("%s: there is no %s", file, metric)
			}
		}
	}
}

// An alert about the increase of a counter fires at the first one only if the counter was shown, as 0, before that.
func TestAlertsSeeTheFirst(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0"}})
	_, shown := get(t, "http://"+s.HTTPAddr+"/metrics")
	alerts, err := os.ReadFile("../../deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`increase\((\w+)`).FindAllStringSubmatch(string(alerts), -1)
	if len(found) < 4 {
		t.Fatalf("%d alerts are about an increase", len(found))
	}
	for _, m := range found {
		if strings.HasPrefix(m[1], "accountant_store_") {
			continue // of a database's store, which this server has not; cmd/accountantd/shared.go shows them
		}
		if !regexp.MustCompile(`(?m)^` + m[1] + `(\{.*\})? 0$`).MatchString(shown) {
			t.Errorf("%s is not there before the first", m[1])
		}
	}
}

// Alerts that go by a job's name know those that the scrape example gives, and the name
// that a ServiceMonitor takes from the manifest's Service. (promtool tests more, where it
// is installed: deploy/check.sh.)
func TestAlertsNameJobs(t *testing.T) {
	t.Parallel()
	read := func(file string) string {
		b, err := os.ReadFile("../../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	all := func(text, pattern string) (found []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
		}
		return found
	}
	jobs := all(read("prometheus.yml"), `(?m)job_name: (\S+)`)
	services := all(read("kubernetes/shared.yaml"), `(?m)^kind: Service\nmetadata:\n  name: (\S+)$`)
	if len(jobs) != 2 || len(services) != 1 || !slices.Contains(jobs, services[0]) {
		t.Fatalf("jobs %q, services %q; want two jobs, one of them called like the service", jobs, services)
	}
	dashboard := read("grafana.json")
	got, named := strings.Count(dashboard, `job=~\"accountantd?\"`), strings.Count(dashboard, "job=")
	if got < 10 || got != named {
		t.Errorf("the dashboard has %d selectors by job, %d of them by both names", named, got)
	}
	alerts := read("alerts.yml")
	selectors := all(alerts, `job=~"([^"]*)"`)
	if n := strings.Count(alerts, "job="); len(selectors) != 4 || n != len(selectors) {
		t.Errorf("%d jobs are selected, %d by =~; want 4", n, len(selectors))
	}
	for _, selector := range selectors {
		for _, job := range jobs {
			if !regexp.MustCompile("^(?:" + selector + ")$").MatchString(job) { // as Prometheus anchors it
				t.Errorf("job=~%q does not select %s", selector, job)
			}
		}
	}
}
