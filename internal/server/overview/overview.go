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
	maxRows = 20_000
	// readAhead is how many ledgers are read at once; each may be large.
	readAhead = 32
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
	answer.NextPageToken, err = h.walk(ctx, page.Page, func(summary ledger.Summary) (Place, error) {
		if !page.MayHave(summary) {
			return Passed, nil
		}
		r, err := h.row(ctx, summary, page, page.Limit-len(list))
		switch {
		case err != nil:
			return Passed, err
		case !page.Has(r.row):
			h.keep(r) // without its ε, which nobody sees
			return Passed, nil
		case len(list) == page.Limit:
			return Later, nil
		}
		list = append(list, r)
		return Shown, nil
	})
	if err == nil {
		err = h.numbers(ctx, list)
	}
	for _, r := range list {
		answer.Rows = append(answer.Rows, r.row)
	}
	return answer, err
}

// Place is where a ledger of a list is.
type Place uint8

// The places.
const (
	Passed Place = iota // on no page
	Shown               // on this page
	Later               // on a later page, or on none
)

// walk is Walk of a list without the daemon's own ledgers.
func (h *Handlers) walk(ctx context.Context, page pages.Page, look func(ledger.Summary) (Place, error)) (string,
	error) {
	return h.Walk(ctx, page, func(l ledger.Summary) (Place, error) {
		if ledger.IsSystem(l.Genesis.Spec.Name) {
			return Passed, nil
		}
		return look(l)
	})
}

// Walk has a question look at the ledgers that the caller may see, from where a page of their list begins. It returns
// the token of the next page, which is empty if this is the last one. The token names the last ledger that is shown,
// and hides one that is not.
func (h *Handlers) Walk(ctx context.Context, page pages.Page, look func(ledger.Summary) (Place, error)) (string,
	error) {
	shows := h.Passage(ctx).Shows
	last, seen := page.After, page.After
	if name, ok := h.Places.Find(page.List(), page.Hidden); ok { // otherwise this daemon has not hidden it
		seen = name
	}
	token := func(at string) string {
		if at == last {
			return page.TokenAt(last, "")
		}
		return page.TokenAt(last, h.Places.Hide(page.List(), at))
	}
	left, passes := page.Limit+1, false // one more tells whether this is the last page
	for looked, until := 0, time.Now().Add(maxPassing); ; {
		ahead := readAhead
		if !passes { // otherwise many may follow that are passed
			ahead = min(left, readAhead)
		}
		found, err := h.Store.List(page.Prefix, seen, ahead)
		if err != nil || ctx.Err() != nil {
			return "", errors.Join(err, ctx.Err())
		}
		more := len(found) == ahead
		for _, summary := range found {
			before, at := seen, Passed
			seen = summary.Genesis.Spec.Name
			if ledger.IsDataset(seen) && !ledger.IsDataset(page.Prefix) { // what follows them are ledgers again
				seen, more, passes = ledger.AfterDatasets, true, true
				break
			}
			if shows(summary.Genesis.Spec) {
				if at, err = look(summary); err != nil {
					return "", err
				}
			}
			switch at {
			case Later:
				return token(before), nil
			case Shown:
				last, left = seen, left-1
			case Passed:
				passes = true
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
