// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/server/overview"
	"github.com/dpaccountant/accountant/internal/server/webhook"
)

const (
	nearlyUsed = 0.8         // of which people are told
	lookEvery  = time.Second // a ledger is looked at so often at most, however often it is charged
	lookTime   = 30 * time.Second
	// maxNoted bounds the ledgers that wait to be looked at.
	maxNoted = 100_000
	// toldAgain is how old the newest entry of a ledger may be that a daemon looks at when it starts.
	toldAgain = 24 * time.Hour
)

// events finds what people are told of by webhooks. Writes and refusals note the ledger's name, which takes a moment,
// and everything else is done later and beside them. A nil *events tells nobody.
type events struct {
	sender *webhook.Sender
	store  ledger.Store
	view   func(context.Context, string) (ledger.View, error)
	pages  string // the address of the dashboard; empty without one
	logger *slog.Logger

	mu    sync.Mutex      // held for moments only
	noted map[string]bool // ledgers that have changed, or, if true, have refused something for their budgets
	some  chan struct{}
}

func newEvents(c Config, view func(context.Context, string) (ledger.View, error), pages string) *events {
	if len(c.Webhook.Addresses) == 0 {
		return nil
	}
	return &events{sender: webhook.NewSender(c.Webhook, c.Logger, c.Metrics.webhook), store: c.Store, view: view,
		pages: pages, logger: c.Logger, noted: map[string]bool{}, some: make(chan struct{}, 1)}
}

// changed notes that something was written to a ledger.
func (e *events) changed(name string) { e.note(name, false) }

// refused notes that a ledger has refused something.
func (e *events) refused(name string, err error) {
	if errors.Is(err, ledger.ErrBudget) {
		e.note(name, true)
	}
}

func (e *events) note(name string, refused bool) {
	if e == nil || ledger.IsSystem(name) {
		return
	}
	e.mu.Lock()
	was, known := e.noted[name]
	full := !known && len(e.noted) >= maxNoted
	if !full {
		e.noted[name] = was || refused
	}
	e.mu.Unlock()
	if full {
		e.sender.Dropped()
		return
	}
	select {
	case e.some <- struct{}{}:
	default:
	}
}

// damaged tells that the store was found damaged.
func (e *events) damaged() {
	if e == nil {
		return
	}
	now := time.Now()
	e.sender.Tell(webhook.New(webhook.StoreDamaged, now, webhook.Data{Page: e.page("/audit", nil),
		Text: "The daemon has found damage in what it stores. Tell whoever runs it at once."}, e.store.ID(),
		webhook.Day(now)))
}

// run tells until ctx ends. It begins with the ledgers that were written to of late, as a daemon before may have
// ended before it told of them.
func (e *events) run(ctx context.Context) {
	if e == nil {
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() { e.sender.Run(ctx) })
	defer sending.Wait()
	if err := e.lookBack(ctx); err != nil && ctx.Err() == nil {
		e.logger.Warn("not all ledgers were looked at for webhooks", "error", err)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.some:
		}
		e.mu.Lock()
		list := e.noted
		e.noted = map[string]bool{}
		e.mu.Unlock()
		for name, refused := range list {
			if err := e.look(ctx, name, refused); err != nil && ctx.Err() == nil {
				e.logger.Warn("a ledger was not looked at for webhooks", "ledger", name, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookEvery):
		}
	}
}

// lookBack notes the ledgers that were written to of late.
func (e *events) lookBack(ctx context.Context) error {
	since := time.Now().Add(-toldAgain)
	for l, err := range ledger.All(e.store, "", "") {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		name := l.Genesis.Spec.Name
		if l.Head.Position == 0 || ledger.IsSystem(name) {
			continue
		}
		newest, err := e.store.Records(name, l.Head.Position, 1)
		if err != nil {
			return err
		}
		if len(newest) > 0 && newest[0].Entry.Time.After(since) {
			e.changed(name)
		}
	}
	return nil
}

// look tells what there is to tell of a ledger.
func (e *events) look(ctx context.Context, name string, refused bool) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	v, err := e.view(ctx, name)
	if err != nil {
		return err
	}
	about := webhook.Data{Ledger: name, Dataset: v.Genesis.Spec.DatasetID,
		Page: e.page("/ledger", url.Values{"name": {name}})}
	called := "The ledger " + name
	if v.Dataset != nil {
		id := strings.TrimPrefix(name, ledger.DatasetsPrefix)
		about = webhook.Data{Dataset: id, Page: e.page("/dataset", url.Values{"id": {id}})}
		called = "The dataset " + id
	}
	now := time.Now()
	tell := func(kind string, d webhook.Data, facts ...string) {
		e.sender.Tell(webhook.New(kind, now, d, e.store.ID(), append([]string{name}, facts...)...))
	}
	for _, p := range v.Proposals {
		d := about
		d.Position, d.Action, d.Page = p.Position, p.Action.Kind(), e.page("/approvals", nil)
		d.Text = fmt.Sprintf("%s has a proposal that waits for another person's approval: %s.", called, d.Action)
		tell(webhook.ProposalWaiting, d, webhook.Number(p.Position))
	}
	if v.Unreconciled {
		d := about
		d.Text = called + " has lost entries and takes nothing until somebody says what that was."
		tell(webhook.NeedsReconciling, d, webhook.Day(now))
	}
	share, _, of, ok := overview.LargestShare(v)
	if !ok || v.Closed {
		return nil
	}
	if about.ShareOf = of; !math.IsInf(share, 1) { // which JSON cannot say; the text does
		about.Share = &share
	}
	used := fmt.Sprintf("%s %% of %s is used", num.FormatReadUp(100*share, 3), of)
	budget := fmt.Sprint(v.Raises, " ", of) // after a raise it is another one
	if share >= nearlyUsed {
		d := about
		d.Text = fmt.Sprintf("%s is nearly used up: %s.", called, used)
		tell(webhook.BudgetNearlyUsed, d, budget)
	}
	if refused {
		d := about
		d.Text = fmt.Sprintf("%s has refused a charge that its budget does not allow; %s.", called, used)
		tell(webhook.BudgetRefused, d, budget, webhook.Day(now))
	}
	return nil
}

// page is the address of a page of the dashboard; empty without one.
func (e *events) page(path string, q url.Values) string {
	if e.pages == "" {
		return ""
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return e.pages + path
}
