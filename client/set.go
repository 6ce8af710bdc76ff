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
	labels map[string]string) (*pb.ReportSetResponse, error) {
	return inLane[*pb.ReportSetResponse](ctx, s.c, "Set.Report", SetLane, s.charge(contribution, events, labels))
}

// ReportOnce is Report under a key that the caller chooses: see Client.ReportOnce. The key covers the set:
// another set, or other events, under the same key are refused with ALREADY_EXISTS.
func (s *Set) ReportOnce(ctx context.Context, key string, contribution pb.SetPart_Contribution,
	events []*pb.Event, labels map[string]string) (*pb.ReportSetResponse, error) {
	return once[*pb.ReportSetResponse](ctx, s.c, "Set.ReportOnce", SetLane, key,
		s.charge(contribution, events, labels))
}

// CheckOnce asks what ReportOnce would do now, and writes nothing. The answer has the ledgers of the set, and
// Refusal where it would be refused. If the key is already used for this charge it has the first receipt.
func (s *Set) CheckOnce(ctx context.Context, key string, contribution pb.SetPart_Contribution, events []*pb.Event,
	labels map[string]string) (*pb.ReportSetResponse, error) {
	const op = "Set.CheckOnce"
	writer, err := requestWriter(op, SetLane, key)
	if err != nil {
		return nil, err
	}
	var answer *pb.ReportSetResponse
	err = s.c.read(ctx, op, SetLane, func(ctx context.Context) (err error) {
		answer, err = s.c.api.ReportSet(ctx, &pb.ReportSetRequest{Set: s.set, Writer: writer, Sequence: 1,
			Charge: &pb.Charge{Events: events, Labels: labels}, Contribution: contribution, CheckOnly: true})
		return err
	})
	return answer, err
}

func (s *Set) charge(contribution pb.SetPart_Contribution, events []*pb.Event, labels map[string]string) Write {
	return Write{Set: s.set, Contribution: contribution, Action: &pb.Charge{Events: events, Labels: labels}}
}

// Reserve sets events aside in each of the ledgers, or in none of them: see Client.Reserve. The receipt names
// the reservation for Commit and Release.
func (s *Set) Reserve(ctx context.Context, contribution pb.SetPart_Contribution, events []*pb.Event,
	lifetime time.Duration, labels map[string]string) (*pb.ReserveSetResponse, error) {
	w, err := s.reserve("Set.Reserve", contribution, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	return inLane[*pb.ReserveSetResponse](ctx, s.c, "Set.Reserve", SetLane, w)
}

// ReserveOnce is Reserve under a key that the caller chooses: see ReportOnce.
func (s *Set) ReserveOnce(ctx context.Context, key string, contribution pb.SetPart_Contribution,
	events []*pb.Event, lifetime time.Duration, labels map[string]string) (*pb.ReserveSetResponse, error) {
	w, err := s.reserve("Set.ReserveOnce", contribution, events, lifetime, labels)
	if err != nil {
		return nil, err
	}
	return once[*pb.ReserveSetResponse](ctx, s.c, "Set.ReserveOnce", SetLane, key, w)
}

func (s *Set) reserve(op string, contribution pb.SetPart_Contribution, events []*pb.Event, lifetime time.Duration,
	labels map[string]string) (Write, error) {
	w, err := reserveOf(op, SetLane, events, lifetime, labels)
	w.Set, w.Contribution = s.set, contribution
	return w, err
}

// ReservationOf names what Reserve has set aside, by its receipt.
func ReservationOf(r *pb.SetReceipt) *pb.SetReservation {
	return &pb.SetReservation{Journal: r.GetJournal(), Position: r.GetPosition()}
}

// CommitSet charges a part of what Set.Reserve has set aside, the same part in all of its ledgers, or in none.
// It travels in the lane like Set.Report.
func (c *Client) CommitSet(ctx context.Context, reservation *pb.SetReservation, events []*pb.Event,
	labels map[string]string) (*pb.CommitSetResponse, error) {
	return inLane[*pb.CommitSetResponse](ctx, c, "CommitSet", SetLane, commitOfSet(reservation, events, labels))
}

// CommitSetOnce is CommitSet under a key that the caller chooses: see ReportOnce.
func (c *Client) CommitSetOnce(ctx context.Context, key string, reservation *pb.SetReservation, events []*pb.Event,
	labels map[string]string) (*pb.CommitSetResponse, error) {
	return once[*pb.CommitSetResponse](ctx, c, "CommitSetOnce", SetLane, key, commitOfSet(reservation, events, labels))
}

func commitOfSet(reservation *pb.SetReservation, events []*pb.Event, labels map[string]string) Write {
	return Write{Action: &pb.SetCommit{Reservation: reservation, Events: events, Labels: labels}}
}

// ReleaseSet gives back what is left of what Set.Reserve has set aside, in all of its ledgers. The caller
// asserts that nothing was, or will be, computed from the data for it. It travels in the lane like Set.Report.
func (c *Client) ReleaseSet(ctx context.Context, reservation *pb.SetReservation,
	reason string) (*pb.ReleaseSetResponse, error) {
	return inLane[*pb.ReleaseSetResponse](ctx, c, "ReleaseSet", SetLane,
		Write{Action: &pb.SetRelease{Reservation: reservation, Reason: reason}})
}

// ReleaseSetOnce is ReleaseSet under a key that the caller chooses: see ReportOnce.
func (c *Client) ReleaseSetOnce(ctx context.Context, key string, reservation *pb.SetReservation,
	reason string) (*pb.ReleaseSetResponse, error) {
	return once[*pb.ReleaseSetResponse](ctx, c, "ReleaseSetOnce", SetLane, key,
		Write{Action: &pb.SetRelease{Reservation: reservation, Reason: reason}})
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
