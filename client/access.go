// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// GetAccess says who the caller is and what the access policy allows: the caller, or the principal
// of the request, which only auditors of everything may ask about.
func (c *Client) GetAccess(ctx context.Context, about *pb.GetAccessRequest) (*pb.GetAccessResponse, error) {
	return ask[*pb.GetAccessResponse](ctx, c, "GetAccess", about.GetLedger(), about)
}
