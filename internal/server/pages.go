// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/fairuse"
	"github.com/dpaccountant/accountant/internal/server/overview"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/pages"
)

const (
	// pageBytes bounds a page's items, so that the response with its token, at most about 8
	// KiB, stays below the 4 MiB that clients accept. One item is smaller than that: a request
	// has up to 512 KiB, which the entry of a raise holds twice, and once more if raw bytes are
	// asked for.
	pageBytes = 3 << 20
	// webPageBytes is pageBytes for the HTTP port, where an answer takes webWeight times as much memory.
	webPageBytes = 64 << 10
	// firstRead is how many entries are read first. Then it is as many as have readBytes, if they are as large as those
	// before, and at most maxRead.
	firstRead = 8
	readBytes = 64 << 10
	maxRead   = 256
	// reading is what a list takes of the memory for answers until it is made: records take several times as much when
	// they are read. It takes firstItems with it, so that a list that may read has room for something: refused after it
	// has read, it would come back and read again.
	reading    = 2 << 20
	firstItems = 256 << 10
	// maxScanned bounds the records that one call looks at. A filter that selects nothing takes
	// a few calls more, none of them long.
	maxScanned = 10_000
)

// room is a page of a list that is being made. Its items are kept as they are sent, as fields that the answer does not
// know: as messages they would take up to fifteen times as much memory.
type room struct {
	answer protoreflect.Message
	field  protowire.Number
	limit  int // items
	most   int // bytes
	weight int // of a byte in memory
	items  int
	used   int
	held   *fairuse.Answer
}

// newRoom returns the room for the items of an answer, which are in its field of this name.
func newRoom(ctx context.Context, answer proto.Message, field string, limit int) (*room, error) {
	c, m := callerOf(ctx), answer.ProtoReflect()
	r := &room{answer: m, field: m.Descriptor().Fields().ByName(protoreflect.Name(field)).Number(), limit: limit,
		most: pageBytes, weight: listWeight, held: c.answer}
	if c.web {
		r.most, r.weight = webPageBytes, webWeight
	}
	return r, r.held.Take(reading + firstItems)
}

// add reports whether an item still fits into the page, and if so adds it. Where the memory for answers is full the
// page ends, and the next one may find more. The error is that there was none for the first item, a large one.
func (r *room) add(item proto.Message) (fits bool, err error) {
	n := proto.Size(item)
	used := r.used + n + 8 // tag and length
	if r.items == r.limit || r.items > 0 && used > r.most {
		return false, nil
	}
	if err := r.held.Take(reading + max(firstItems, r.weight*used)); err != nil {
		if r.items > 0 {
			err = nil
		}
		return false, err
	}
	b := protowire.AppendTag(r.answer.GetUnknown(), r.field, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(n))
	if b, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(b, item); err != nil {
		return false, err
	}
	r.answer.SetUnknown(b)
	r.items, r.used = r.items+1, used
	return true, nil
}

// ListLedgers implements the API.
func (s *service) ListLedgers(ctx context.Context, req *pb.ListLedgersRequest) (*pb.ListLedgersResponse, error) {
	page, err := pages.ToLedgers(req)
	if err != nil {
		return nil, err
	}
	answer := &pb.ListLedgersResponse{}
	rest, err := newRoom(ctx, answer, "ledgers", page.Limit)
	if err != nil {
		return nil, err
	}
	answer.NextPageToken, err = s.Walk(ctx, page, func(l ledger.Summary) (overview.Place, error) {
		name := l.Genesis.Spec.Name
		if _, journal := ledger.JournalNumber(name); journal {
			return overview.Passed, nil
		}
		item := wire.FromSummary(l)
		if ledger.IsDataset(name) {
			v, err := s.keeper.View(ctx, name) // with amendments
			if err != nil {
				return overview.Passed, err
			}
			item = wire.FromListedDataset(v)
		}
		if fits, err := rest.add(item); !fits {
			return overview.Later, err
		}
		return overview.Shown, nil
	})
	return answer, err
}

// ListEntries implements the API.
func (s *service) ListEntries(ctx context.Context, req *pb.ListEntriesRequest) (*pb.ListEntriesResponse, error) {
	page, err := pages.ToEntries(req)
	if err != nil {
		return nil, err
	}
	answer, next := &pb.ListEntriesResponse{}, page.From
	rest, err := newRoom(ctx, answer, "entries", page.Limit)
	if err != nil {
		return nil, err
	}
	if req.GetRaw() && page.From == 1 {
		if answer.Genesis, _, err = s.store.GenesisRecord(page.Ledger); err != nil {
			return nil, err
		}
		rest.used = len(answer.Genesis) // a plan's can be a megabyte
	}
	for ahead, scanned := firstRead, 0; ; {
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
				if fits, err := rest.add(wire.FromRecord(record, req.GetRaw())); !fits {
					answer.NextPageToken = page.Token(next)
					return answer, err
				}
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
		ahead = max(1, min(readBytes*len(found)/max(bytes, 1), maxRead))
	}
}
