// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Set is a handle for several ledgers of a Client. They must have the same adjacency and the same unit of
// privacy.
type Set struct {
	c   *Client
	set *pb.LedgerSet
}

// Set returns a handle for 1 to 1,000 ledgers. Nothing is sent.
func (c *Client) Set(ledgers ...string) *Set {
	return &Set{c, &pb.LedgerSet{Ledgers: ledgers}}
}

// Range returns a handle for all ledgers whose names begin with prefix and go on with a text from first to
// last, both included, in the order of bytes. An empty first or last leaves that side open. For example,
// Range("days/", "2026-11-01", "2026-11-30") has the ledgers of a month's days. Nothing is sent.
func (c *Client) Range(prefix, first, last string) *Set {
	return &Set{c, &pb.LedgerSet{Range: &pb.LedgerRange{Prefix: prefix, First: first, Last: last}}}
}

// SetLane is the name to give to Pending and Settle for writes to several ledgers. They all travel in one
// lane of the Client, whichever ledgers they are about.
const SetLane = ""

// Report charges events to each of the ledgers, or to none of them, and returns once that is durable. The
// contribution says whether the events' sensitivity bounds what a person's rows in each ledger move the release by
// (pb.SetPart_IN_EACH), or those in all ledgers together (pb.SetPart_OVER_ALL): it is required, since answers about
// a person who is in several of the ledgers differ by it. A range is resolved once, when the charge is decided; the
// receipt names the ledgers. The request travels in a lane,
// with the retries and errors of Client.Report. If it is refused, Error.Refusal names the ledgers that lack
// budget, what each of them lacks, and what would fit in all of them.
func (s *Set) Report(ctx context.Context, contribution pb.SetPart_Contribution, events []*pb.Event,
	labels map[string]string) (*pb.WriteResponse, error) {
	return s.c.write(ctx, "Set.Report", SetLane, s.charge(contribution, events, labels))
}

// ReportOnce is Report under a key that the caller chooses: see Client.ReportOnce. The key covers the set:
// another set, or other events, under the same key are refused with ALREADY_EXISTS.
func (s *Set) ReportOnce(ctx context.Context, key string, contribution pb.SetPart_Contribution,
	events []*pb.Event, labels map[string]string) (*pb.WriteResponse, error) {
	return s.c.once(ctx, "Set.ReportOnce", SetLane, key,
		s.charge(contribution, events, labels))
}

// CheckOnce asks what ReportOnce would do now, and writes nothing. The answer has the ledgers of the set, and
// Refusal where it would be refused. If the key is already used for this charge it has the first receipt.
func (s *Set) CheckOnce(ctx context.Context, key string, contribution pb.SetPart_Contribution, events []*pb.Event,
	labels map[string]string) (*pb.WriteResponse, error) {
	const op = "Set.CheckOnce"
	writer, err := requestWriter(op, SetLane, key)
	if err != nil {
		return nil, err
	}
	var answer *pb.WriteResponse
	err = s.c.read(ctx, op, SetLane, func(ctx context.Context) (err error) {
		answer, err = s.c.api.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledgers: s.set, Contribution: contribution, Writer: writer, Sequence: 1, CheckOnly: true},
			Charge: &pb.Charge{Events: events, Labels: labels}})
		return err
	})
	return answer, err
}

func (s *Set) charge(contribution pb.SetPart_Contribution, events []*pb.Event, labels map[string]string) Write {
	return Write{Ledgers: s.set, Contribution: contribution, Action: &pb.Charge{Events: events, Labels: labels}}
}

// Reserve sets events aside in each of the ledgers, or in none of them: see Client.Reserve. The receipt's ledger
// and position name the reservation for Client.Commit and Client.Release, which do the same in all of its ledgers.
func (s *Set) Reserve(ctx context.Context, contribution pb.SetPart_Contribution, events []*pb.Event,
	lifetime time.Duration, labels map[string]string) (*pb.WriteResponse, error) {
	w, err := s.reserve("Set.Reserve", contribution, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	return s.c.write(ctx, "Set.Reserve", SetLane, w)
}

// ReserveOnce is Reserve under a key that the caller chooses: see ReportOnce.
func (s *Set) ReserveOnce(ctx context.Context, key string, contribution pb.SetPart_Contribution,
	events []*pb.Event, lifetime time.Duration, labels map[string]string) (*pb.WriteResponse, error) {
	w, err := s.reserve("Set.ReserveOnce", contribution, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	return s.c.once(ctx, "Set.ReserveOnce", SetLane, key, w)
}

func (s *Set) reserve(op string, contribution pb.SetPart_Contribution, events []*pb.Event, lifetime time.Duration,
	labels map[string]string) (Write, error) {
	w, err := reserveOf(op, SetLane, events, lifetime, labels)
	w.Ledgers, w.Contribution = s.set, contribution
	return w, err
}

// Query asks what each of the ledgers costs, and what they cost together: for a record that is in all of them,
// and for one that is in at most one.
func (s *Set) Query(ctx context.Context, given Given) (*pb.QueryPrivacySetResponse, error) {
	request := &pb.QueryPrivacySetRequest{Set: s.set, MaxGap: given.gap}
	switch given.kind {
	case givenDelta:
		request.Given = &pb.QueryPrivacySetRequest_Delta{Delta: given.value}
	case givenEpsilon:
		request.Given = &pb.QueryPrivacySetRequest_Epsilon{Epsilon: given.value}
	}
	var answer *pb.QueryPrivacySetResponse
	err := s.c.read(ctx, "Set.Query", "", func(ctx context.Context) (err error) {
		answer, err = s.c.api.QueryPrivacySet(ctx, request)
		return err
	})
	return answer, err
}
