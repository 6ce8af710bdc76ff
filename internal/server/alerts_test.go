package server_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Alerts and the page that explains them are about metrics that there are.
func TestAlertsNameMetrics(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0"}})
	s.Create(servertest.Filter("limited", servertest.Basic(1)))
	s.NewLedger("free")
	stream := s.Stream("limited", servertest.Writer())
	stream.Charge(1, one) // not a guarantee: refused
	stream.Rejected()
	if _, err := s.Client.QueryPrivacy(servertest.Context(t), &pb.QueryPrivacyRequest{
		Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: "free"}, Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}}); err != nil {
		t.Fatal(err)
	}
	_, shown := get(t, "http://"+s.HTTPAddr+"/metrics")
	name := regexp.MustCompile(`\b(accountant|grpc_server|process)_[a-z_]+`)
	for _, file := range []string{"../../deploy/alerts.yml", "../../docs/operations.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := name.FindAllString(string(text), -1)
		if len(found) < 10 {
			t.Errorf("%s names %q: too few", file, found)
		}
		for _, metric := range found {
			if strings.HasPrefix(metric, "accountant_batch_failures") || metric == "process_start_time_seconds" {
				continue // there only once one has failed
			}
			if !strings.Contains(shown, metric) {
				t.Errorf("%s: there is no %s", file, metric)
			}
		}
	}
}
