// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// CheckReceipt checks the receipt of a ledger that a request carries in field, and
// returns the hash it states. The hash pins the entry and all before it.
func CheckReceipt(field string, r *pb.Receipt, name string) (hash ledger.Hash, err error) {
	switch {
	case r.GetLedger() != name:
		return hash, Invalid(field+".ledger", Quote(r.GetLedger()),
			fmt.Sprintf("the ledger that the request names, %q", name))
	case !IsUUID(r.GetStoreId()):
		return hash, Invalid(field+".store_id", Quote(r.GetStoreId()), "a UUID in lower case")
	case r.GetPosition() == 0:
		return hash, Invalid(field+".position", "missing or 0", "a whole number ≥ 1")
	case len(r.GetHeadHash()) != len(hash):
		return hash, Invalid(field+".head_hash", fmt.Sprintf("%d bytes", len(r.GetHeadHash())),
			fmt.Sprintf("%d bytes", len(hash)))
	}
	return ledger.Hash(r.GetHeadHash()), nil
}
