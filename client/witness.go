// SPDX-License-Identifier: Apache-2.0

package client

import (
	"slices"
	"sync"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// witness is what a lane remembers of the newest receipt it got, by position: enough
// for the daemon to tell whether it still has that entry, and so all before it. It
// is a copy, since receipts are the caller's to change.
type witness struct {
	mu       sync.Mutex
	store    string
	ledger   string // or the journal of several; all receipts of a lane name the same
	position uint64 // 0: no receipt yet
	hash     [32]byte
}

// see takes in the receipt of an answer, if it has one.
func (w *witness) see(answer any) {
	a, ok := answer.(interface{ GetReceipt() *pb.Receipt })
	if !ok {
		return
	}
	r := a.GetReceipt()
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.GetPosition() <= w.position || len(r.GetHeadHash()) != len(w.hash) {
		return
	}
	w.store, w.ledger, w.position, w.hash = r.GetStoreId(), r.GetLedger(), r.GetPosition(), [32]byte(r.GetHeadHash())
}

// receipt is what a write sends of it; nil before the first.
func (w *witness) receipt() *pb.Receipt {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.position == 0 {
		return nil
	}
	return &pb.Receipt{StoreId: w.store, Ledger: w.ledger, Position: w.position, HeadHash: slices.Clone(w.hash[:])}
}
