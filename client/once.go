package client

import (
	"context"
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// CloseLedgerOnce ends a ledger for good under the user's own key, like
// ReportOnce: closed again with the same key and reason it gets the first
// receipt, with replayed set.
func (c *Client) CloseLedgerOnce(ctx context.Context, ledger, key, reason string) (*pb.CloseLedgerResponse, error) {
	const op = "CloseLedgerOnce"
	writer, err := requestWriter(op, ledger, key)
	if err != nil {
		return nil, err
	}
	request, err := freeze(op, ledger, &pb.CloseLedgerRequest{Name: ledger, Writer: writer, Sequence: 1, Reason: reason})
	if err != nil {
		return nil, err
	}
	var answer pb.CloseLedgerResponse
	it := &item{sequence: 1, method: pb.AccountantService_CloseLedger_FullMethodName, request: request}
	if err := c.send(ctx, op, ledger, it, &answer); err != nil {
		return nil, err
	}
	return &answer, nil
}

// CheckOnce asks whether ReportOnce would be taken now, and writes nothing. If
// the key is already used for this content it returns the first receipt, with
// replayed set.
func (c *Client) CheckOnce(ctx context.Context, ledger, key string, events []*pb.Event, labels map[string]string) (*pb.ReportResponse, error) {
	const op = "CheckOnce"
	writer, err := requestWriter(op, ledger, key)
	if err != nil {
		return nil, err
	}
	var answer *pb.ReportResponse
	err = c.read(ctx, op, ledger, func(ctx context.Context) (err error) {
		answer, err = c.api.Report(ctx, &pb.ReportRequest{
			Ledger: ledger, Writer: writer, Sequence: 1,
			Charge: &pb.Charge{Events: events, Labels: labels}, CheckOnly: true,
		})
		return err
	})
	return answer, err
}

// requestWriter is the writer of a user's key.
func requestWriter(op, ledger, key string) (string, error) {
	if !requestPattern.MatchString(key) {
		return "", invalid(op, ledger, fmt.Sprintf("key: %q; allowed: 1 to 128 bytes of [A-Za-z0-9._-]", key))
	}
	return "request/" + key, nil
}
