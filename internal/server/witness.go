// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// compareReceipt compares the newest receipt that a client holds of a ledger (nil:
// none), in a field of its request, with what is stored: errForgotten if the entry is
// not there, or is another. One hash pins all before it, so that the store may be
// another, made of a copy that has the entry. It reads one record, which a walk over at most 255
// finds.
func (s *service) compareReceipt(field, name string, kept *pb.Receipt) error {
	if kept == nil {
		return nil
	}
	hash, err := wire.CheckReceipt(field, kept, name)
	if err != nil {
		return err
	}
	forgotten := func(format string, args ...any) error {
		found := fmt.Sprintf(format, args...)
		// How much all teams charge is not for every caller to know.
		if _, journal := ledger.JournalNumber(name); journal {
			found = "nothing there, or another one"
		}
		if id := s.store.ID(); kept.GetStoreId() != id {
			found += "; this is store " + id
		}
		return fmt.Errorf("%w: ledger %s: expected, by its receipt, an entry with hash %x at position %d of store "+
			"%s; found %s",
			errForgotten, name, hash, kept.GetPosition(), kept.GetStoreId(), found)
	}
	records, err := s.store.Records(name, kept.GetPosition(), 1)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return forgotten("no such ledger")
	case err != nil:
		return err
	case len(records) == 0:
		return forgotten("no entry there")
	case records[0].Hash != hash:
		return forgotten("one with hash %x", records[0].Hash)
	}
	return nil
}
