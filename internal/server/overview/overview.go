// SPDX-License-Identifier: Apache-2.0

// Package overview answers what a dashboard shows: what every ledger has spent, how it came to that, who spent
// it, and when its budget may be used up. What it has found is kept for as long as it holds: a row as long as
// its ledger has the same head, and what is known of entries for ever, as they never change.
//
// It is a package of its own because all of it could be forgotten: no answer about privacy depends on what it
// keeps.
package overview

import (
	"context"
	"errors"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/history"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/sessions"
	"github.com/dpaccountant/accountant/internal/server/subject"
	"github.com/dpaccountant/accountant/internal/server/turns"
	"github.com/dpaccountant/accountant/internal/wire/pages"
	lru "github.com/hashicorp/golang-lru/v2"
)

// Config is what the answers are made of.
type Config struct {
	Store   ledger.Store // committed records are read from it
	Ledgers Ledgers
	InTime  turns.InTime
	Places  *pages.Places // how far lists have been looked through
	Now     func() time.Time

	Spent, Plans *sessions.Sessions // those of which QueryPrivacy asks what was charged, and what was planned
	// Dataset is what a dataset's statement is about, given its view.
	Dataset func(ctx context.Context, v ledger.View) (subject.Subject, error)
	Passage func(ctx context.Context) Passage // of the call
}

// Ledgers provides ledgers as committed. *keeper.Keeper implements it.
type Ledgers interface {
	View(ctx context.Context, name string) (ledger.View, error)
	Summary(ctx context.Context, name string) (ledger.Summary, error)
}

// Passage says what the caller may see. *gate.Passage implements it.
type Passage interface {
	Shows(ledger.Spec) bool
	States(ledger.Spec) bool
}

// These bound what is kept: a row takes about a kilobyte.
const (
	maxRows   = 20_000
	readAhead = 64
	// Of what was read of ledgers' entries, for histories and for spending each.
	maxPasts     = 320
	maxKeptBytes = 96 << 20
	// Whoever asks what a person has spent anywhere reads many ledgers that are small, and whoever asks about the
	// largest set twice reads its ledgers' entries once.
	maxGrouped = 4096 + 2*ledger.MaxMembers
)

// maxPassing bounds for how long a page looks at ledgers that it does not show, and maxPassed how many.
const (
	maxPassing = 250 * time.Millisecond
	maxPassed  = 10_000
)

// Handlers implement the calls.
type Handlers struct {
	Config
	rows   *lru.Cache[rowKey, *row]
	pasts  *kept[pastKey, *past]
	groups *kept[groupsKey, grouped]

	beyond    *beyond
	following following
}

type groupsKey struct {
	name  string
	by    history.By
	label string
}

type rowKey struct {
	name  string
	delta float64 // 0: its own
}

// row is a row as of a head. Of a dataset it also depends on the ledgers, so that it is not kept.
type row struct {
	key     rowKey
	head    ledger.Head
	row     *pb.OverviewRow  // not to be changed once the row is kept
	subject *subject.Subject // of which ε are to be found; nil if there are none, or they are in the row
}

// New returns handlers.
func New(c Config) *Handlers {
	rows, err := lru.New[rowKey, *row](maxRows)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	b := newBeyond()
	return &Handlers{Config: c, rows: rows, pasts: newKept[pastKey, *past](maxPasts, maxKeptBytes),
		groups: newKept[groupsKey, grouped](maxGrouped, maxKeptBytes), beyond: b, following: following{beyond: b}}
}

// QueryOverview implements the API.
func (h *Handlers) QueryOverview(ctx context.Context, req *pb.QueryOverviewRequest) (*pb.QueryOverviewResponse, error) {
	page, err := pages.ToOverview(req)
	if err != nil {
		return nil, err
	}
	answer := &pb.QueryOverviewResponse{}
	var list []*row
	answer.NextPageToken, err = h.walk(ctx, page.Page, func(summary ledger.Summary) (place, error) {
		if !page.MayHave(summary) {
			return passed, nil
		}
		r, err := h.row(ctx, summary, page, page.Limit-len(list))
		switch {
		case err != nil:
			return passed, err
		case !page.Has(r.row):
			h.keep(r) // without its ε, which nobody sees
			return passed, nil
		case len(list) == page.Limit:
			return later, nil
		}
		list = append(list, r)
		return shown, nil
	})
	if err == nil {
		err = h.numbers(ctx, list)
	}
	for _, r := range list {
		answer.Rows = append(answer.Rows, r.row)
	}
	return answer, err
}

// place is where a ledger of a list is.
type place uint8

const (
	passed place = iota // on no page
	shown               // on this page
	later               // on a later page, or on none
)

// walk has a question look at the ledgers that the caller may see, from where a page of their list begins. It returns
// the token of the next page, which is empty if this is the last one.
func (h *Handlers) walk(ctx context.Context, page pages.Page, look func(ledger.Summary) (place, error)) (string,
	error) {
	shows := h.Passage(ctx).Shows
	last, seen := page.After, page.After
	if name, ok := h.Places.Find(page.List(), page.Hidden); ok {
		seen = name
	}
	token := func(at string) string {
		if at == last {
			return page.TokenAt(last, "")
		}
		return page.TokenAt(last, h.Places.Hide(page.List(), at))
	}
	for looked, until := 0, time.Now().Add(maxPassing); ; {
		found, err := h.Store.List(page.Prefix, seen, readAhead)
		if err != nil || ctx.Err() != nil {
			return "", errors.Join(err, ctx.Err())
		}
		more := len(found) == readAhead
		for _, summary := range found {
			before := seen
			seen = summary.Genesis.Spec.Name
			if ledger.IsDataset(seen) && !ledger.IsDataset(page.Prefix) { // what follows them are ledgers again
				seen, more = ledger.AfterDatasets, true
				break
			}
			if ledger.IsSystem(seen) || !shows(summary.Genesis.Spec) {
				continue
			}
			at, err := look(summary)
			switch {
			case err != nil:
				return "", err
			case at == later:
				return token(before), nil
			case at == shown:
				last = seen
			}
		}
		if !more {
			return "", nil
		}
		if looked += len(found); seen != last && (looked > maxPassed || time.Now().After(until)) {
			return token(seen), nil
		}
	}
}

// resumable reports whether what was found before this error still holds.
func resumable(err error) bool {
	return errors.Is(err, accountant.ErrStopped) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}
