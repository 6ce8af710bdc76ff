package client

import (
	"context"

	"github.com/google/uuid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Report charges events to a ledger, together or not at all, and returns once
// they are durable. labels may be nil. See the package comment for retries and
// for an error with Unknown set; without it nothing was written.
func (c *Client) Report(ctx context.Context, ledger string, events []*pb.Event,
	labels map[string]string) (*pb.ReportResponse, error) {
	return inLane[*pb.ReportResponse](ctx, c, "Report", ledger,
		Write{Charge: &pb.Charge{Events: events, Labels: labels}})
}

// CloseLedger ends a ledger for good: it accepts no more charges. The request travels in the
// lane as Report's does, with the same errors. reason may be empty. Where callers are known, by
// a socket's user or a certificate, only the principal that created the ledger may close it, or
// a caller on the daemon's own socket; anybody else gets PERMISSION_DENIED.
func (c *Client) CloseLedger(ctx context.Context, ledger, reason string) (*pb.CloseLedgerResponse, error) {
	return inLane[*pb.CloseLedgerResponse](ctx, c, "CloseLedger", ledger, Write{Close: &pb.Close{Reason: reason}})
}

// Check asks whether Report would be accepted now, and writes nothing. It does not use the
// lane, so it also works while a stream is open.
func (c *Client) Check(ctx context.Context, ledger string, events []*pb.Event,
	labels map[string]string) (*pb.ReportResponse, error) {
	var answer *pb.ReportResponse
	err := c.read(ctx, "Check", ledger, func(ctx context.Context) error {
		writer, err := uuid.NewRandom() // nothing is written, so nothing is repeated
		if err != nil {
			return err
		}
		answer, err = c.api.Report(ctx, &pb.ReportRequest{
			Ledger: ledger, Writer: writer.String(), Sequence: 1,
			Charge: &pb.Charge{Events: events, Labels: labels}, CheckOnly: true,
		})
		return err
	})
	return answer, err
}

// GetWriter returns the last number that was written in a writer's lane of a ledger. An empty
// writer means this client.
func (c *Client) GetWriter(ctx context.Context, ledger, writer string) (*pb.GetWriterResponse, error) {
	if writer == "" {
		writer = c.writer
	}
	var answer *pb.GetWriterResponse
	err := c.read(ctx, "GetWriter", ledger, func(ctx context.Context) (err error) {
		answer, err = c.api.GetWriter(ctx, &pb.GetWriterRequest{Ledger: ledger, Writer: writer})
		return err
	})
	return answer, err
}
