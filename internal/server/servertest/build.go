// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"testing"

	"github.com/google/uuid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// NewLedger creates a ledger with adjacency ADD_OR_REMOVE_ONE.
func (s *Server) NewLedger(name string) {
	s.t.Helper()
	_, err := s.Client.CreateLedger(Context(s.t), &pb.CreateLedgerRequest{Spec: Spec(name)})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Spec is a small spec with adjacency ADD_OR_REMOVE_ONE.
func Spec(name string) *pb.LedgerSpec {
	return &pb.LedgerSpec{Name: name, Adjacency: pb.Workload_ADD_OR_REMOVE_ONE}
}

// Writer is a new writer's name.
func Writer() string { return uuid.NewString() }

// Gaussian is a charge of one event: count Gaussians by their noise multiplier.
func Gaussian(noiseMultiplier float64, count uint32) *pb.Charge {
	return &pb.Charge{Events: []*pb.Event{{
		Mechanism: &pb.Mechanism{
			Kind: &pb.Mechanism_Gaussian{Gaussian: &pb.Gaussian{NoiseMultiplier: &noiseMultiplier}}},
		Count: count,
	}}}
}

// Report charges and expects success.
func (s *Server) Report(ledger, writer string, sequence uint64, c *pb.Charge) *pb.Receipt {
	s.t.Helper()
	answer, err := s.Client.Report(Context(s.t),
		&pb.ReportRequest{Lane: &pb.Lane{Ledger: ledger, Writer: writer, Sequence: sequence}, Charge: c})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.GetReceipt()
}

// Position is a ledger's committed position.
func (s *Server) Position(ledger string) uint64 {
	s.t.Helper()
	answer, err := s.Client.GetLedger(Context(s.t), &pb.GetLedgerRequest{Name: ledger})
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.GetLedger().GetPosition()
}

// Stream is an open report stream.
type Stream struct {
	pb.Charges_ReportStreamClient
	Last uint64 // the last sequence number as of opening
	t    testing.TB
}

// Stream opens a report stream and waits for Opened.
func (s *Server) Stream(ledger, writer string) *Stream {
	s.t.Helper()
	return OpenStream(s.t, s.Client, ledger, writer)
}

// OpenStream opens a report stream and waits for Opened.
func OpenStream(t testing.TB, client api.Client, ledger, writer string) *Stream {
	t.Helper()
	stream, err := client.ReportStream(Context(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &Stream{Charges_ReportStreamClient: stream, t: t}
	err = stream.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
		Open: &pb.ReportStreamRequest_Open{Ledger: ledger, Writer: writer}}})
	if err != nil {
		t.Fatal(err)
	}
	answer := s.Next()
	if answer.GetOpened() == nil {
		t.Fatalf("first answer: %v; want opened", answer)
	}
	s.Last = answer.GetOpened().GetLastSequence()
	return s
}

// Charge sends a charge.
func (s *Stream) Charge(sequence uint64, c *pb.Charge) {
	s.t.Helper()
	err := s.Send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
		Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: sequence, Charge: c}}})
	if err != nil {
		_, cause := s.Recv()
		s.t.Fatalf("send %d: %v: %v", sequence, err, cause)
	}
}

// Next receives an answer.
func (s *Stream) Next() *pb.ReportStreamResponse {
	s.t.Helper()
	answer, err := s.Recv()
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// Acknowledged receives until everything through sequence is acknowledged and
// returns the last receipt. A rejection fails the test.
func (s *Stream) Acknowledged(sequence uint64) *pb.Receipt {
	s.t.Helper()
	for {
		answer := s.Next()
		a := answer.GetAcknowledged()
		if a == nil {
			s.t.Fatalf("answer: %v; want acknowledged", answer)
		}
		if a.GetThrough() >= sequence {
			return a.GetReceipt()
		}
	}
}

// Rejected receives a rejection, skipping acknowledgements.
func (s *Stream) Rejected() *pb.ReportStreamResponse_Rejected {
	s.t.Helper()
	for {
		answer := s.Next()
		if r := answer.GetRejected(); r != nil {
			return r
		}
		if answer.GetAcknowledged() == nil {
			s.t.Fatalf("answer: %v; want rejected", answer)
		}
	}
}
