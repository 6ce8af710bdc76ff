package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/ledger/journals"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/pages"
)

const (
	// pageBytes bounds a page's items, so that the response with its token, at most about 8
	// KiB, stays below the 4 MiB that clients accept. One item is smaller than that: a request
	// has up to 512 KiB, which the entry of a raise holds twice, and once more if raw bytes are
	// asked for.
	pageBytes = 3 << 20
	// readAhead is how many records are read at once; each may be large.
	readAhead = 32
	// smallRecord is the size, in bytes, up to which records are read in larger steps.
	smallRecord = 4 << 10
	// maxScanned bounds the records that one call looks at. A filter that selects nothing takes
	// a few calls more, none of them long.
	maxScanned = 10_000
	// maxHidden bounds the names that the caller may not see and that one page of a list passes over,
	// and maxPassing for how long it does. The next page goes on from there.
	maxHidden  = 10_000
	maxPassing = 250 * time.Millisecond
)

// passing bounds how long a page passes over what the caller may not see.
type passing struct {
	names int
	until time.Time
}

func newPassing() passing { return passing{maxHidden, time.Now().Add(maxPassing)} }

// over reports whether n more names were too many.
func (p *passing) over(n int) bool {
	p.names -= n
	return p.names <= 0 || time.Now().After(p.until)
}

// Lists of names, of which a place is in one.
const (
	listLedgers  = "ledgers "
	listDatasets = "datasets"
)

// reached is the name up to which a list has been looked through. If this daemon has not hidden the place,
// as after a restart, that is the last name that was shown.
func (s *service) reached(list, after, hidden string) string {
	if name, ok := s.places.Find(list, hidden); ok {
		return name
	}
	return after
}

// room adds up the bytes of a page.
type room struct{ used int }

// fits reports whether an item still fits into the page, and if so counts it.
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
	page, err := pages.ToLedgers(req)
	if err != nil {
		return nil, err
	}
	// The token of the next page names the last ledger that is shown, and hides one that is not.
	list := listLedgers + page.Prefix
	answer, rest, last, seen := &pb.ListLedgersResponse{}, room{}, page.After, s.reached(list, page.After, page.Hidden)
	hidden, pass := false, newPassing()
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		want := page.Limit - len(answer.Ledgers) + 1 // one more tells whether this is the last page
		ahead := min(want, readAhead)
		if hidden { // many may follow
			ahead = readAhead
		}
		found, err := s.store.List(page.Prefix, seen, ahead)
		if err != nil {
			return nil, err
		}
		more := len(found) == ahead
		for _, summary := range found {
			seen = summary.Genesis.Spec.Name
			if ledger.IsDataset(seen) { // ListDatasets has them; what follows them are ledgers again
				seen, hidden, more = ledger.AfterDatasets, true, true
				break
			}
			if _, journal := journals.Number(seen); journal || !passage(ctx).Shows(summary.Genesis.Spec) {
				hidden = true
				continue
			}
			l := wire.FromSummary(summary)
			if len(answer.Ledgers) == page.Limit || !rest.fits(l) {
				answer.NextPageToken = page.Token(last)
				return answer, nil
			}
			answer.Ledgers, last = append(answer.Ledgers, l), l.GetName()
		}
		if !more {
			return answer, nil
		}
		if seen != last && pass.over(len(found)) {
			answer.NextPageToken = page.TokenAt(last, s.places.Hide(list, seen))
			return answer, nil
		}
	}
}

// ListEntries implements the API.
func (s *service) ListEntries(ctx context.Context, req *pb.ListEntriesRequest) (*pb.ListEntriesResponse, error) {
	page, err := pages.ToEntries(req)
	if err != nil {
		return nil, err
	}
	answer, rest, next := &pb.ListEntriesResponse{}, room{}, page.From
	if req.GetRaw() && page.From == 1 {
		if answer.Genesis, _, err = s.store.GenesisRecord(page.Ledger); err != nil {
			return nil, err
		}
		rest.used = len(answer.Genesis) // a plan's can be a megabyte
	}
	for ahead, scanned := readAhead, 0; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := s.store.Records(page.Ledger, next, ahead)
		if err != nil {
			return nil, err
		}
		bytes := 0
		for _, record := range found {
			if at := record.Entry.Position; page.Filter.To > 0 && at > page.Filter.To {
				return answer, nil
			}
			if page.Filter.Selects(record.Entry) {
				e := wire.FromRecord(record, req.GetRaw())
				if len(answer.Entries) == page.Limit || !rest.fits(e) {
					answer.NextPageToken = page.Token(next)
					return answer, nil
				}
				answer.Entries = append(answer.Entries, e)
			}
			next = record.Entry.Position + 1
			bytes += len(record.Raw)
		}
		if len(found) < ahead {
			return answer, nil
		}
		if scanned += ahead; scanned >= maxScanned {
			answer.NextPageToken = page.Token(next)
			return answer, nil
		}
		// Of small records many: each read may first pass over some 200 others.
		ahead = readAhead
		if bytes < readAhead*smallRecord {
			ahead = 8 * readAhead
		}
	}
}
