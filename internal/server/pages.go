package server

import (
	"context"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

const (
	// pageBytes bounds a page's items, so that the response with its token and
	// the genesis (at most some 8 KiB each) stays below the 4 MiB that clients
	// accept. A single item is smaller: a request's 512 KiB, twice if raw.
	pageBytes = 3 << 20
	// readAhead is how many records are read at once: each may be a large one.
	readAhead = 32
)

// room adds up the bytes of a page.
type room struct{ used int }

// fits reports whether an item fits into the page, and takes its place.
func (r *room) fits(m proto.Message) bool {
	n := proto.Size(m) + 8 // tag and length
	if r.used > 0 && r.used+n > pageBytes {
		return false
	}
	r.used += n
	return true
}

// ListLedgers implements the API.
func (s *service) ListLedgers(ctx context.Context, req *pb.ListLedgersRequest) (*pb.ListLedgersResponse, error) {
	page, err := wire.ToLedgerPage(req)
	if err != nil {
		return nil, err
	}
	answer, rest, last := &pb.ListLedgersResponse{}, room{}, page.After
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		want := page.Limit - len(answer.Ledgers) + 1 // one more tells whether this is the last page
		found, err := s.store.List(page.Prefix, last, min(want, readAhead))
		if err != nil {
			return nil, err
		}
		for _, summary := range found {
			l := wire.FromSummary(summary)
			if len(answer.Ledgers) == page.Limit || !rest.fits(l) {
				answer.NextPageToken = page.Token(last)
				return answer, nil
			}
			answer.Ledgers, last = append(answer.Ledgers, l), l.GetName()
		}
		if len(found) < min(want, readAhead) {
			return answer, nil
		}
	}
}

// ListEntries implements the API.
func (s *service) ListEntries(ctx context.Context, req *pb.ListEntriesRequest) (*pb.ListEntriesResponse, error) {
	page, err := wire.ToEntryPage(req)
	if err != nil {
		return nil, err
	}
	answer, rest, next := &pb.ListEntriesResponse{}, room{}, page.From
	if req.GetRaw() && page.From == 1 {
		if answer.Genesis, _, err = s.store.GenesisRecord(page.Ledger); err != nil {
			return nil, err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		want := page.Limit - len(answer.Entries) + 1
		found, err := s.store.Records(page.Ledger, next, min(want, readAhead))
		if err != nil {
			return nil, err
		}
		for _, record := range found {
			e := wire.FromRecord(record, req.GetRaw())
			if len(answer.Entries) == page.Limit || !rest.fits(e) {
				answer.NextPageToken = page.Token(next)
				return answer, nil
			}
			answer.Entries, next = append(answer.Entries, e), e.GetPosition()+1
		}
		if len(found) < min(want, readAhead) {
			return answer, nil
		}
	}
}
