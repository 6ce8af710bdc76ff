// SPDX-License-Identifier: Apache-2.0

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
	labels map[string]string) (*pb.WriteResponse, error) {
	return c.write(ctx, "Report", ledger,
		Write{Action: &pb.Charge{Events: events, Labels: labels}})
}

// Check asks whether Report would be accepted now, and writes nothing. It does not use the
// lane, so it also works while a stream is open.
func (c *Client) Check(ctx context.Context, ledger string, events []*pb.Event,
	labels map[string]string) (*pb.WriteResponse, error) {
	var answer *pb.WriteResponse
	err := c.read(ctx, "Check", ledger, func(ctx context.Context) error {
		writer, err := uuid.NewRandom() // nothing is written, so nothing is repeated
		if err != nil {
			return err
		}
		answer, err = c.api.Report(ctx, &pb.ReportRequest{
			Lane:   &pb.Lane{Ledger: ledger, Writer: writer.String(), Sequence: 1, CheckOnly: true},
			Charge: &pb.Charge{Events: events, Labels: labels}})
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
	return ask[*pb.GetWriterResponse](ctx, c, "GetWriter", ledger, &pb.GetWriterRequest{Ledger: ledger, Writer: writer})
}
