// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// ReportOnce charges events under a key that the caller chooses for this one charge. The same
// key with the same content is charged once, from whichever process it is sent again; every
// repetition gets the first receipt, with replayed set. So, unlike Report, ReportOnce may be
// called again after an error with Unknown set, and should be. It does not use the lane. A key
// is at most 128 bytes of [A-Za-z0-9._-]; use another key for another charge.
func (c *Client) ReportOnce(ctx context.Context, ledger, key string, events []*pb.Event,
	labels map[string]string) (*pb.WriteResponse, error) {
	return c.once(ctx, "ReportOnce", ledger, key,
		Write{Action: &pb.Charge{Events: events, Labels: labels}})
}

// CheckOnce asks whether ReportOnce would be accepted now, and writes nothing. If the key is
// already used for this content it returns the first receipt, with replayed set.
func (c *Client) CheckOnce(ctx context.Context, ledger, key string, events []*pb.Event,
	labels map[string]string) (*pb.WriteResponse, error) {
	const op = "CheckOnce"
	writer, err := requestWriter(op, ledger, key)
	if err != nil {
		return nil, err
	}
	var answer *pb.WriteResponse
	err = c.read(ctx, op, ledger, func(ctx context.Context) (err error) {
		answer, err = c.api.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: ledger, Writer: writer, Sequence: 1, CheckOnly: true},
			Charge: &pb.Charge{Events: events, Labels: labels}})
		return err
	})
	return answer, err
}
