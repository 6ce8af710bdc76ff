// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Eve asks 32 questions at once, again and again, so that she is refused some: as many of hers as there may be wait
// for their turns. Of Ann, who asks one question at a time, none is refused, of whichever kind.
func TestSingleQuestionsBesideMany(t *testing.T) {
	t.Parallel()
	issuer := bearertest.New(t)
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Analyses: 1,
		Issuers: []bearer.Issuer{{URL: issuer.URL, Keys: issuer.Keys, Audiences: []string{bearertest.Audience}}}}})
	s.NewLedger("asked")
	writer := servertest.Writer()
	for i := range uint64(20) {
		s.Report("asked", writer, i+1, servertest.Gaussian(1+float64(i)/10, 1))
	}
	as := func(who string) context.Context {
		token := "Bearer " + issuer.Token(who, nil)
		return metadata.AppendToOutgoingContext(servertest.Context(t), "authorization", token)
	}
	eve, stop := context.WithCancel(as("eve"))
	defer stop()
	full := make(chan struct{})
	var once sync.Once
	var asking sync.WaitGroup
	costly := many(200).GetEvents()
	for range 32 {
		asking.Go(func() {
			for eve.Err() == nil {
				_, err := s.Client.QueryPrivacy(eve, &pb.QueryPrivacyRequest{Subject: &pb.QueryPrivacyRequest_Workload{
					Workload: &pb.Workload{Adjacency: pb.Workload_ADD_OR_REMOVE_ONE, Events: costly}},
					Given: &pb.QueryPrivacyRequest_Delta{Delta: 1e-5}})
				if status.Code(err) == codes.Unavailable {
					once.Do(func() { close(full) })
					time.Sleep(10 * time.Millisecond) // as somebody who does not wait as long as he is told to
				}
			}
		})
	}
	select {
	case <-full:
	case <-eve.Done():
		t.Fatal("eve is never refused")
	}
	ann := as("ann")
	for range 3 {
		_, overview := s.Client.QueryOverview(ann, &pb.QueryOverviewRequest{})
		_, history := s.Client.QueryHistory(ann, &pb.QueryHistoryRequest{Ledger: "asked", Points: 20})
		_, spending := s.Client.QuerySpending(ann, &pb.QuerySpendingRequest{Ledger: "asked",
			By: pb.QuerySpendingRequest_MECHANISM})
		_, forecast := s.Client.QueryForecast(ann, &pb.QueryForecastRequest{Ledger: "asked"})
		for what, err := range map[string]error{"overview": overview, "history": history, "spending": spending,
			"forecast": forecast} {
			if err != nil {
				t.Errorf("ann's %s: %v", what, err)
			}
		}
		s.Report("asked", servertest.Writer(), 1, servertest.Gaussian(3, 1)) // so that nothing is known from before
	}
	stop()
	asking.Wait()
}
