// SPDX-License-Identifier: Apache-2.0

// Package audit checks ledgers against what their logs say: it goes through the
// stored bytes of one ledger, from its genesis on, decides every entry again and
// compares what was kept elsewhere (receipts, signed heads, what a daemon or a
// file says of the ledger). It believes nothing but those bytes.
//
// What is wrong is a *Finding: the first one in the order of the log. No clock,
// no goroutines and no I/O but an io.Reader that its caller opened. Memory grows
// with the distinct mechanisms, the open reservations and the writers of a ledger
// (some 50 bytes each), not with its entries.
package audit

import (
	"fmt"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Finding is something that is not as it should be.
type Finding struct {
	Ledger   string // empty where it is none's
	Position uint64 // of the entry; 0 for the genesis, or where it is of no single entry
	What     string // a field of the entry, or a stored row
	Expected string // by the entries before, or by what was kept
	Found    string
}

// Error is one line.
func (f *Finding) Error() string {
	var b strings.Builder
	if f.Ledger != "" {
		fmt.Fprintf(&b, "ledger %s: ", f.Ledger)
	}
	if f.Position > 0 {
		fmt.Fprintf(&b, "entry %d: ", f.Position)
	}
	fmt.Fprintf(&b, "%s: %s; expected: %s", f.What, f.Found, f.Expected)
	return b.String()
}

// Message is the API's view of the finding.
func (f *Finding) Message() *pb.Finding {
	return &pb.Finding{Ledger: f.Ledger, Position: f.Position, What: f.What, Expected: f.Expected, Found: f.Found}
}
