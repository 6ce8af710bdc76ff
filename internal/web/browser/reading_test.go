// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// A page of a ledger that is read for the first time is there before the numbers are, and completes itself without
// being loaded again.
func TestPageCompletesItself(t *testing.T) {
	t.Parallel()
	p := open(t)
	store := servertest.NewGated()
	defer store.Open()
	s := servertest.StartWith(t, servertest.Config{Store: store, Server: server.Config{HTTP: "127.0.0.1:0",
		Dashboard: true}})
	s.Create(servertest.Filter("long", servertest.Basic(1e4)))
	for range 30 {
		s.Report("long", servertest.Writer(), 1, &pb.Charge{Events: []*pb.Event{servertest.Pure(0.1, 1)}})
	}
	store.Shut(1, 10)
	p.do(chromedp.Navigate("http://" + s.HTTPAddr + ledgerPage("long")))
	p.shows("[data-live]", "of 30 are read")
	p.shows("#spent", "of 30 are read")
	p.do(chromedp.Evaluate("window.notLoadedAgain = true", nil))
	p.waits("#live-state", "This page follows the ledger.")
	store.Open()
	p.waits("[data-live]", "ε guaranteed")
	p.waits("#spent", "Together")
	var same bool
	if p.do(chromedp.Evaluate("window.notLoadedAgain === true", &same)); !same {
		t.Error("the page was loaded again")
	}
}
