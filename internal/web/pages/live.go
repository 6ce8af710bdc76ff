// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server/inside"
)

// livePause is the least time between two changes of a page: a job may report a thousand times a
// second, and each change asks for a history.
const livePause = time.Second

// refusalsPause is how often a live page asks whether more was refused, which changes no ledger and so wakes nobody
// who watches one. The answer takes the daemon some microseconds.
const refusalsPause = 2 * time.Second

// live sends the changing part of a ledger's page whenever the ledger has changed, as events of
// the server (html.spec.whatwg.org, "Server-sent events"). The ledger is watched by the same call
// that "accountctl ledger watch" makes, so the same rights and limits hold.
func (s *site) live(w http.ResponseWriter, r *http.Request) {
	if err := checkAddress(r); err != nil {
		s.fail(w, r, err)
		return
	}
	name, err := needed(r, "name", "ledger")
	if err != nil {
		s.fail(w, r, err)
		return
	}
	part, err := partOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	stream, err := s.api.WatchLedger(r.Context(), &pb.WatchLedgerRequest{Name: name})
	if err == nil {
		_, err = stream.Recv() // the state that the page has shown already
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	flush, _ := w.(http.Flusher)
	send := func(event, data string) bool {
		_, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, strings.ReplaceAll(data, "\n", "\ndata: "))
		if flush != nil {
			flush.Flush()
		}
		return err == nil
	}
	show := func(event, part string, of any) bool {
		var b bytes.Buffer
		return s.pages["ledger"].ExecuteTemplate(&b, part, of) == nil && send(event, b.String())
	}
	changed := make(chan error)
	go func() {
		for err := error(nil); err == nil; {
			_, err = stream.Recv() // it has the newest state only
			select {
			case changed <- err:
			case <-r.Context().Done():
				return
			}
		}
	}()
	var now *ledgerNow
	spendingShown := !r.URL.Query().Has("by")
	change := func() (b ledgerBody, ok bool) {
		ctx, answered := inside.Each(r.Context())
		defer answered()
		now, err := s.now(ctx, name, part, now)
		if err != nil || !show("now", "now", now) {
			return b, false // the browser asks again
		}
		b.ledgerNow = now
		if !spendingShown {
			if err := s.spending(r.WithContext(ctx), name, &b); err != nil || !show("who", "spent", b) {
				return b, false
			}
			spendingShown = b.Spending.GetReading() == nil
		}
		return b, true
	}
	for {
		b, ok := change()
		if !ok {
			return
		}
		now = b.ledgerNow
		if now.Ledger.GetClosed() && !b.reading() {
			break
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(livePause):
		}
		if b.reading() {
			continue // which is shown whether or not the ledger changes
		}
		if err := s.change(r.Context(), changed, now); err != nil {
			return
		}
	}
	send("end", "closed")
}

// change waits until the ledger has changed, or has refused more than is shown. It returns an error when nobody
// watches any more.
func (s *site) change(ctx context.Context, changed <-chan error, shown *ledgerNow) error {
	look := time.NewTicker(refusalsPause)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-changed:
			return err
		case <-look.C:
			if shown.NoRefusals != "" { // asking again would fill the log
				look.Stop()
				continue
			}
			part, answered := inside.Each(ctx)
			found, err := s.api.ListRefusals(part, &pb.ListRefusalsRequest{Ledger: shown.Ledger.GetName()})
			answered()
			if err != nil || found.GetCount() != shown.Refusals.GetCount() {
				return nil
			}
		}
	}
}
