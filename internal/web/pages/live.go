package pages

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// livePause is the least time between two changes of a page: a job may report a thousand times a
// second, and each change asks for a history.
const livePause = time.Second

// live sends the changing part of a ledger's page whenever the ledger has changed, as events of
// the server (html.spec.whatwg.org, "Server-sent events"). The ledger is watched by the same call
// that "accountctl watch" makes, so the same rights and limits hold.
func (s *site) live(w http.ResponseWriter, r *http.Request) {
	name, err := needed(r, "name", "ledger")
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
	for closed := false; !closed; {
		now, err := s.now(r.Context(), name)
		if err != nil {
			return // the browser asks again
		}
		var b bytes.Buffer
		if err := s.pages["ledger"].ExecuteTemplate(&b, "now", now); err != nil || !send("now", b.String()) {
			return
		}
		if closed = now.Ledger.GetClosed(); closed {
			break
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(livePause):
		}
		if _, err := stream.Recv(); err != nil { // it has the newest state only
			return
		}
	}
	send("end", "closed")
}
