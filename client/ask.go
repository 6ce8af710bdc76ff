// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
)

// Ask makes any call of the API that is neither a write to a ledger nor a stream. The request's type says which call it
// is: a *pb.QueryForecastRequest is answered with a *pb.QueryForecastResponse.
func (c *Client) Ask(ctx context.Context, request proto.Message) (proto.Message, error) {
	m := api.Asking(request)
	if m == nil {
		return nil, invalid("Ask", "", fmt.Sprintf("request: %s; allowed: a request that is answered once, such as a "+
			"QueryForecastRequest", request.ProtoReflect().Descriptor().FullName()))
	}
	return ask[proto.Message](ctx, c, string(m.Name()), ledgerOf(m, request), request)
}

// ledgerOf returns the ledger that a request names.
func ledgerOf(m protoreflect.MethodDescriptor, request proto.Message) string {
	if r, ok := request.(interface{ GetLedger() string }); ok {
		return r.GetLedger()
	}
	if r, ok := request.(interface{ GetName() string }); ok && api.Access(m).GetScope() == pb.Access_LEDGERS {
		return r.GetName()
	}
	return ""
}

// ask makes the call that a request is for. It is tried again as a call is that writes nothing, or that may be repeated
// freely.
func ask[A proto.Message](ctx context.Context, c *Client, op, ledger string, request proto.Message) (A, error) {
	m := api.Asking(request)
	answer := api.NewAnswer(m)
	err := c.read(ctx, op, ledger, func(ctx context.Context) error {
		return c.conn.Invoke(ctx, api.Path(m), request, answer)
	})
	if err != nil {
		var none A
		return none, err
	}
	return answer.(A), nil
}

// Pages goes through the rows of all pages that a request asks for, such as the ledgers of a *pb.ListLedgersRequest. It
// ends after the first error. The request's page token is not looked at.
func Pages[R proto.Message](ctx context.Context, c *Client, request proto.Message) iter.Seq2[R, error] {
	return pages(func(token string) (rows []R, next string, err error) {
		asked := proto.Clone(request)
		m := asked.ProtoReflect()
		m.Set(m.Descriptor().Fields().ByName("page_token"), protoreflect.ValueOfString(token))
		answer, err := c.Ask(ctx, asked)
		if err != nil {
			return nil, "", err
		}
		page := answer.ProtoReflect()
		list := page.Get(api.Rows(page.Descriptor())).List()
		for i := range list.Len() {
			rows = append(rows, list.Get(i).Message().Interface().(R))
		}
		return rows, page.Get(page.Descriptor().Fields().ByName("next_page_token")).String(), nil
	})
}
