// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// CreateLedger creates a ledger. If a ledger with the same name and spec exists already, it
// returns that one; after a retry this may be the one that this call created. If the name is
// taken by a ledger with another spec, the error has the code ALREADY_EXISTS.
func (c *Client) CreateLedger(ctx context.Context, spec *pb.LedgerSpec) (*pb.CreateLedgerResponse, error) {
	return ask[*pb.CreateLedgerResponse](ctx, c, "CreateLedger", spec.GetName(), &pb.CreateLedgerRequest{Spec: spec})
}

// GetLedger returns a ledger's committed state, or an error with the code NOT_FOUND. A dataset is
// "dataset:" and its identifier, also in ListLedgers and Statement.
//
// If a ledger's reservations are very large, the answer leaves out what some of them hold
// (rest_omitted); GetLedgerFrom returns it.
func (c *Client) GetLedger(ctx context.Context, ledger string) (*pb.GetLedgerResponse, error) {
	return c.GetLedgerFrom(ctx, ledger, 0)
}

// GetLedgerFrom is GetLedger with the reservations from the given position on. What the first
// of them holds is never left out.
func (c *Client) GetLedgerFrom(ctx context.Context, ledger string, position uint64) (*pb.GetLedgerResponse, error) {
	return ask[*pb.GetLedgerResponse](ctx, c, "GetLedger", ledger,
		&pb.GetLedgerRequest{Name: ledger, ReservationsFrom: position})
}

// ListLedgers goes through the ledgers whose names start with prefix, in the
// order of the names' bytes. It ends after the first error.
func (c *Client) ListLedgers(ctx context.Context, prefix string) iter.Seq2[*pb.Ledger, error] {
	return Pages[*pb.Ledger](ctx, c, &pb.ListLedgersRequest{Prefix: prefix})
}

// CreateDataset registers a dataset, and adopts the ledgers that already carry its identifier:
// all of them, or it changes nothing. If a dataset with the same spec is registered already, it
// returns that one. It works on the daemon's own socket only.
func (c *Client) CreateDataset(ctx context.Context, req *pb.CreateDatasetRequest) (*pb.CreateDatasetResponse, error) {
	return ask[*pb.CreateDatasetResponse](ctx, c, "CreateDataset", "", req)
}

// EntriesOptions say which entries to list and how. The zero value lists all.
type EntriesOptions struct {
	// Start is the first position. Default: 1.
	Start uint64
	// End is the last position. Default: no bound.
	End uint64
	// Writer, if set, selects the entries of this writer only.
	Writer string
	// Labels selects the entries that have all of these labels.
	Labels map[string]string
	// Since and Until select the entries that the daemon took at Since or later, and before
	// Until. Zero means no bound.
	Since, Until time.Time
	// PageSize is how many entries one call fetches, at most 1,000. Default: 100.
	PageSize uint32
	// Raw returns the stored bytes of each entry too, to verify the hash chain.
	Raw bool
	// Genesis, if set, is called with the stored genesis record, whose hash starts the chain,
	// before the first entry. It is called only with Raw and Start ≤ 1.
	Genesis func(raw []byte)
}

// Entries goes through a ledger's committed entries by position. It ends after
// the first error.
func (c *Client) Entries(ctx context.Context, ledger string, o EntriesOptions) iter.Seq2[*pb.Entry, error] {
	return pages(func(token string) ([]*pb.Entry, string, error) {
		request := &pb.ListEntriesRequest{
			Ledger: ledger, PageSize: o.PageSize, PageToken: token, Raw: o.Raw,
			EndPosition: o.End, Writer: o.Writer, Labels: o.Labels, Since: timestamp(o.Since),
			Until: timestamp(o.Until),
		}
		if token == "" {
			request.StartPosition = o.Start
		}
		page, err := ask[*pb.ListEntriesResponse](ctx, c, "Entries", ledger, request)
		if g := page.GetGenesis(); g != nil && o.Genesis != nil {
			o.Genesis(g)
		}
		return page.GetEntries(), page.GetNextPageToken(), err
	})
}

// timestamp converts a time; it returns nil for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// pages turns a paged call into an iterator.
func pages[T any](fetch func(token string) (page []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for token := ""; ; {
			page, next, err := fetch(token)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, x := range page {
				if !yield(x, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			token = next
		}
	}
}
