package client

import (
	"context"
	"regexp"

	"github.com/google/uuid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Report charges events to a ledger, together or not at all, and returns once
// they are durable. labels may be nil. See the package comment for retries and
// for an error with Unknown set; without it nothing was written.
func (c *Client) Report(ctx context.Context, ledger string, events []*pb.Event, labels map[string]string) (*pb.ReportResponse, error) {
	var answer pb.ReportResponse
	err := c.write(ctx, "Report", ledger, func(sequence uint64) (*item, error) {
		charge, err := freeze("Report", ledger, &pb.Charge{Events: events, Labels: labels})
		if err != nil {
			return nil, err
		}
		return c.reportItem("Report", ledger, c.writer, sequence, charge)
	}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

// CloseLedger ends a ledger for good: it takes no more charges. It travels in
// the lane like Report, with the same errors. reason may be empty.
func (c *Client) CloseLedger(ctx context.Context, ledger, reason string) (*pb.CloseLedgerResponse, error) {
	var answer pb.CloseLedgerResponse
	err := c.write(ctx, "CloseLedger", ledger, func(sequence uint64) (*item, error) {
		request, err := freeze("CloseLedger", ledger, &pb.CloseLedgerRequest{Name: ledger, Writer: c.writer, Sequence: sequence, Reason: reason})
		return &item{sequence: sequence, method: pb.AccountantService_CloseLedger_FullMethodName, request: request}, err
	}, &answer)
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

// Check asks whether Report would be taken now, and writes nothing. It does not
// use the lane, so it works beside an open stream.
func (c *Client) Check(ctx context.Context, ledger string, events []*pb.Event, labels map[string]string) (*pb.ReportResponse, error) {
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

var requestPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// ReportOnce charges events under the user's own key for this one charge: the
// same key with the same content is charged once and gets the first receipt,
// with replayed set, in whichever process it is repeated. So, unlike Report, it
// may be called again after an error with Unknown set, and should be. It does
// not use the lane. The key is at most 128 bytes of [A-Za-z0-9._-]; a charge of
// its own needs a key of its own.
func (c *Client) ReportOnce(ctx context.Context, ledger, key string, events []*pb.Event, labels map[string]string) (*pb.ReportResponse, error) {
	const op = "ReportOnce"
	writer, err := requestWriter(op, ledger, key)
	if err != nil {
		return nil, err
	}
	charge, err := freeze(op, ledger, &pb.Charge{Events: events, Labels: labels})
	if err != nil {
		return nil, err
	}
	it, err := c.reportItem(op, ledger, writer, 1, charge)
	if err != nil {
		return nil, err
	}
	var answer pb.ReportResponse
	if err := c.send(ctx, op, ledger, it, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// reportItem makes the request of one Report around a frozen charge.
func (c *Client) reportItem(op, ledger, writer string, sequence uint64, charge frozen) (*item, error) {
	request, err := freeze(op, ledger, &pb.ReportRequest{Ledger: ledger, Writer: writer, Sequence: sequence, Charge: thawCharge(charge)})
	if err != nil {
		return nil, err
	}
	return &item{sequence: sequence, method: pb.AccountantService_Report_FullMethodName, request: request, charge: charge}, nil
}

// GetWriter returns how far a lane of a ledger has come. An empty writer means
// this client.
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
