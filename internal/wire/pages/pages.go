// SPDX-License-Identifier: Apache-2.0

// Package pages reads which part of a list a request asks for, and makes the token with which the list goes
// on: of ledgers and of a ledger's entries.
package pages

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// ToLedgers converts a request for a page of the list of ledgers.
func ToLedgers(r *pb.ListLedgersRequest) (p Page, err error) {
	if err := checkPrefix(r.GetPrefix()); err != nil {
		return p, err
	}
	p, err = toPage("ledgers", r, defaultSize, MaxSize)
	p.Prefix = r.GetPrefix()
	return p, err
}

// checkPrefix accepts what the names of ledgers, or those of datasets' records, can start with.
func checkPrefix(prefix string) error {
	switch {
	case prefix == ledger.DatasetsPrefix:
		return nil
	case ledger.IsDataset(prefix):
		return wire.CheckLedgerName("prefix", prefix)
	}
	return wire.CheckPrefix("prefix", prefix)
}

// Entries is the part of a ledger's entries that a request asks for: up to
// Limit from position From on, of those that Filter selects.
type Entries struct {
	Ledger string
	From   uint64 // ≥ 1
	Limit  int
	Filter Filter
}

// ToEntries converts a request for a page.
func ToEntries(r *pb.ListEntriesRequest) (Entries, error) {
	limit, err := toSize(r.GetPageSize(), defaultSize, MaxSize)
	if err != nil {
		return Entries{}, err
	}
	if err := wire.CheckLedgerName("ledger", r.GetLedger()); err != nil {
		return Entries{}, err
	}
	filter, err := toFilter(r)
	if err != nil {
		return Entries{}, err
	}
	page := Entries{Ledger: r.GetLedger(), From: max(r.GetStartPosition(), 1), Limit: limit, Filter: filter}
	if r.GetPageToken() == "" {
		return page, nil
	}
	if r.StartPosition != 0 {
		return Entries{}, wire.Invalid("start_position", fmt.Sprint(r.StartPosition), "none with a page_token")
	}
	from, err := fromToken(r.PageToken, tokenEntries, page.Ledger+filter.key)
	if err != nil {
		return Entries{}, err
	}
	page.From, err = strconv.ParseUint(from, 10, 64)
	if err != nil || page.From == 0 {
		return Entries{}, wrongToken(r.PageToken)
	}
	return page, nil
}

// Token is the page token for the entries from position next on.
func (p Entries) Token(next uint64) string {
	return toToken(tokenEntries, p.Ledger+p.Filter.key, strconv.FormatUint(next, 10))
}

// toSize is how many items a page has: what was asked for, or the usual number.
func toSize(n uint32, usual, most int) (int, error) {
	switch {
	case n == 0:
		return usual, nil
	case int(n) > most:
		return 0, wire.Invalid("page_size", fmt.Sprint(n), fmt.Sprintf("0 (for %d) to %d", usual, most))
	}
	return int(n), nil
}

const (
	// defaultSize is the page size where none is given.
	defaultSize = 100
	// MaxSize bounds the page size.
	MaxSize = 1000
)

// A page token is the kind of list, what it was asked for and where to go on,
// so that one of another list is refused.
const tokenEntries = "entries"

// toToken joins with a byte that is in no part.
func toToken(kind, subject, next string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + "\x00" + subject + "\x00" + next))
}

func fromToken(token, kind, subject string) (next string, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	next, ok := strings.CutPrefix(string(b), kind+"\x00"+subject+"\x00")
	if err != nil || !ok {
		return "", wrongToken(token)
	}
	return next, nil
}

func fromNameToken(token, kind, subject string) (last, hidden string, err error) {
	next, err := fromToken(token, kind, subject)
	if err != nil {
		return "", "", err
	}
	last, hidden, hides := strings.Cut(next, "\x00")
	if hides != (hidden != "") || last == "" && !hides ||
		last != "" && wire.CheckLedgerName("page_token", last) != nil {
		return "", "", wrongToken(token)
	}
	return last, hidden, nil
}

func wrongToken(token string) error {
	return wire.Invalid("page_token", wire.Quote(token),
		"the next_page_token of the page before, with the same list, prefix and filter")
}
