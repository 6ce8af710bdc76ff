// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/statement"
)

// Whatever shows a charge to several ledgers, or a number that has one in it, says whose rows its sensitivity bounds:
// receipts and repeated ones, entries, answers, statements and pages. A restored copy says it, too.
func TestContributionIsShown(t *testing.T) {
	t.Parallel()
	s := withDatasets(t, server.Config{HTTP: "127.0.0.1:0", Dashboard: true})
	ctx := servertest.Context(t)
	names := map[pb.SetPart_Contribution][]string{}
	for number := range pb.SetPart_Contribution_name {
		c := pb.SetPart_Contribution(number)
		if c == pb.SetPart_CONTRIBUTION_UNSPECIFIED {
			continue
		}
		for _, l := range []string{"/1", "/2"} {
			spec := servertest.Filter(spelling.Contribution(c)+l, epsilonDelta(pb.Budget_ZCDP, 3, 1e-5))
			if c == pb.SetPart_PEOPLE_DRAWN_IN_EACH { // which no ledger with a budget takes
				spec = servertest.Spec(spec.GetName())
			}
			names[c] = append(names[c], spec.GetName())
			s.Create(spec)
		}
	}
	json := func() api.Client {
		return api.NewClient(&servertest.JSON{URL: "http://" + s.HTTPAddr, Client: http.DefaultClient})
	}
	for c, list := range names {
		ask := &pb.ReportRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: list},
			Writer: "request/" + spelling.Contribution(c), Sequence: 1, Contribution: c},
			Charge: servertest.Gaussian(7, 1)}
		for _, client := range []api.Client{s.Client, s.Client} {
			if a, err := client.Report(ctx, ask); err != nil || a.GetReceipt().GetContribution() != c {
				t.Fatalf("%v: receipt %v, %v", c, a.GetReceipt(), err)
			}
		}
		if c == pb.SetPart_PEOPLE_DRAWN_IN_EACH {
			continue
		}
		held, err := s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Ledgers: ask.Lane.Ledgers,
			Writer: ask.Lane.Writer +
				"-held", Sequence: 1, Contribution: c},
			Reserve: &pb.Reserve{Events: ask.GetCharge().GetEvents(),
				LifetimeSeconds: 60}})
		if err != nil || held.GetReceipt().GetContribution() != c {
			t.Fatalf("%v: receipt %v, %v", c, held.GetReceipt(), err)
		}
		at := held.GetReceipt()
		freed, err := s.Client.Release(ctx, &pb.ReleaseRequest{Lane: &pb.Lane{Ledger: at.GetLedger(),
			Writer: ask.Lane.Writer + "-freed", Sequence: 1},
			Release: &pb.Release{Reservation: at.GetPosition()}})
		if err != nil || freed.GetReceipt().GetContribution() != c {
			t.Fatalf("%v: receipt %v, %v", c, freed.GetReceipt(), err)
		}
		s.opened(t, list, c)
	}
	for _, restored := range []bool{false, true} {
		if restored {
			s.LoseAfter(func() {})
		}
		for c, list := range names {
			shown, word := s.whatPeopleRead(t, json(), list[0]), "("+spelling.Contribution(c)+")"
			for where, text := range shown {
				if strings.Contains(where, "entries") {
					if !strings.Contains(text, strings.Trim(word, "()")) && !strings.Contains(text, c.String()) {
						t.Errorf("%s (restored: %v): %s does not say %s: %s", list[0], restored, where, word, text)
					}
					continue
				}
				for _, other := range spelling.Contributions() {
					if said := strings.Contains(text, "("+other+")"); said != (word == "("+other+")") {
						t.Errorf("%s (restored: %v): %s says %s: %v", list[0], restored, where, other, said)
					}
				}
			}
		}
	}
}

// whatPeopleRead is what is shown of a ledger, by where.
func (s *datasetServer) whatPeopleRead(t *testing.T, json api.Client, name string) map[string]string {
	t.Helper()
	ctx := servertest.Context(t)
	shown := map[string]string{}
	for where, client := range map[string]api.Client{"gRPC": s.Client, "JSON": json} {
		texts := func(m proto.Message, err error) string {
			if err != nil {
				t.Fatalf("%s: %v", where, err)
			}
			return protojson.Format(m)
		}
		q := &pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Ledger{Ledger: name}}
		shown[where+" query"] = texts(client.QueryPrivacy(ctx, q))
		curve := &pb.QueryPrivacyCurveRequest{Subject: &pb.QueryPrivacyCurveRequest_Ledger{Ledger: name}}
		shown[where+" curve"] = texts(client.QueryPrivacyCurve(ctx, curve))
		shown[where+" ledger"] = texts(client.GetLedger(ctx, &pb.GetLedgerRequest{Name: name}))
		shown[where+" entries"] = texts(client.ListEntries(ctx, &pb.ListEntriesRequest{Ledger: name}))
		stated, err := client.GetStatement(ctx, &pb.GetStatementRequest{Name: name})
		shown[where+" statement"] = texts(stated, err)
		shown[where+" statement as Markdown"] = statement.Markdown(stated.GetStatement())
		inEach := !strings.HasPrefix(name, "over-all")
		i := slices.IndexFunc(stated.GetStatement().GetSections(),
			func(s *pb.StatementSection) bool { return s.GetTitle() == "Whose privacy" })
		less := strings.Contains(strings.Join(stated.GetStatement().GetSections()[i].GetPoints(), " "),
			"Whoever has data in several of these ledgers is protected less than this text says")
		if less != inEach {
			t.Errorf("%s: the statement says that people in several ledgers are protected less: %v", name, less)
		}
	}
	for _, page := range []string{"ledger", "curves", "statement"} {
		shown[page+" page"] = s.page(t, page, name)
	}
	return shown
}

// The answer about several ledgers counts what they have in common, and does not say that it is for people in one.
func TestAnswersAboutSeveralCountWhatTheyShare(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 2)
	ctx := servertest.Context(t)
	if _, err := s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: names},
		Sequence: 1, Writer: "request/a", Contribution: pb.SetPart_IN_EACH},
		Charge: &pb.Charge{Events: []*pb.Event{servertest.Pure(0.1, 1)}}}); err != nil {
		t.Fatal(err)
	}
	answer, err := s.Client.QueryPrivacySet(ctx, setAtDelta(1e-6, names...))
	if err != nil {
		t.Fatal(err)
	}
	of := func(list []*pb.Assumption) bool {
		return slices.ContainsFunc(list, func(a *pb.Assumption) bool { return a.GetKind() == "together" })
	}
	if of(answer.GetInAll().GetAssumptions()) || !of(answer.GetLedgers()[0].GetPrivacy().GetAssumptions()) {
		t.Errorf("%v", answer)
	}
}

// How far a record moves a mixture of Gaussians is drawn, so who charges it in each of several ledgers has to say that
// a person's rows move it independently.
func TestMixtureInEachSaysWhatIsDrawn(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	names := days(t, s, 2)
	m := &pb.Mechanism{Kind: &pb.Mechanism_MixtureOfGaussians{MixtureOfGaussians: &pb.MixtureOfGaussians{
		StandardDeviation: proto.Float64(30), Sensitivities: []float64{0, 1}, Probabilities: []float64{0.5, 0.5}}}}
	ask := &pb.ReportRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: names}, Sequence: 1, Writer: "request/a",
		CheckOnly: true, Contribution: pb.SetPart_IN_EACH},
		Charge: &pb.Charge{Events: []*pb.Event{{Mechanism: m, Count: 1}}}}
	_, err := s.Client.Report(servertest.Context(t), ask)
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "ROWS_DRAWN_IN_EACH if the rows") {
		t.Errorf("in each: %v", err)
	}
	ask.Lane.Contribution = pb.SetPart_ROWS_DRAWN_IN_EACH
	if _, err = s.Client.Report(servertest.Context(t), ask); status.Code(err) == codes.InvalidArgument {
		t.Errorf("rows drawn in each: %v", err)
	}
}

// opened reserves for several ledgers, and expects the reservation to say whose contribution its sensitivity bounds.
func (s *datasetServer) opened(t *testing.T, list []string, c pb.SetPart_Contribution) {
	t.Helper()
	ctx := servertest.Context(t)
	if _, err := s.Client.Reserve(ctx, &pb.ReserveRequest{Lane: &pb.Lane{Ledgers: &pb.LedgerSet{Ledgers: list},
		Sequence: 1, Writer: "request/" + spelling.Contribution(c) + "-open", Contribution: c},
		Reserve: &pb.Reserve{Events: servertest.Gaussian(7, 1).GetEvents(), LifetimeSeconds: 3600}}); err != nil {
		t.Fatal(err)
	}
	answer, err := s.Client.GetLedger(ctx, &pb.GetLedgerRequest{Name: list[0]})
	if err != nil {
		t.Fatal(err)
	}
	open := answer.GetLedger().GetReservations()
	if len(open) != 1 || open[0].GetContribution() != c ||
		!strings.HasSuffix(spelling.Held(open[0]), "of several ledgers ("+spelling.Contribution(c)+")") {
		t.Errorf("%v: open %v", c, open)
	}
	page := s.page(t, "ledger", list[0])
	if !strings.Contains(page, "of several ledgers ("+spelling.Contribution(c)+")") {
		t.Errorf("%v: the page of the ledger does not say it: %s", c, page)
	}
}

// page is a page about a ledger.
func (s *datasetServer) page(t *testing.T, page, name string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(servertest.Context(t), http.MethodGet,
		"http://"+s.HTTPAddr+"/"+page+"?name="+url.QueryEscape(name), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", page, answer.StatusCode, err)
	}
	return string(text)
}
