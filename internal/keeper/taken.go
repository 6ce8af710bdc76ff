package keeper

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// request is what a caller sent, whoever it was: the name of the lane and the content.
type request struct {
	name   string
	digest ledger.Digest
}

// taken refuses the first request of a lane if a principal of another kind has begun a
// lane of the same name with the same request. It is most probably one charge that was
// sent again over another listener, where the same caller is known by other means:
// "unverified:ann" over TCP, "uid:1000" over a socket, "cn:ann" with a certificate.
// Two principals of one kind are two callers, and have request IDs of their own.
//
// It is refused and not answered with the first receipt: if two callers did choose the
// same request ID, then both charges have to be counted. It concerns the first request
// of a lane only, so nobody can hold up a lane that has begun. docs/decisions/keeper.md.
func (q *queue) taken(r ledger.Request) error {
	if r.Writer.Principal == ledger.Daemon {
		return nil
	}
	if first, ok := q.begun[request{r.Writer.Name, r.Digest}]; ok && !sameKind(first.Writer, r.Writer) {
		return takenBy(first, r)
	}
	first, err := q.k.config.Store.Namesakes(q.name, r.Writer)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // a journal that is not there yet
		return err
	}
	for _, f := range first {
		if f.Entry.Digest == r.Digest && f.Entry.Writer.Principal != ledger.Daemon &&
			!sameKind(f.Entry.Writer, r.Writer) {
			return takenBy(f.Entry, r)
		}
	}
	return nil
}

// sameKind reports whether the principals are known by the same means, which is what
// comes before their colon.
func sameKind(a, b ledger.Writer) bool {
	x, _, _ := strings.Cut(a.Principal, ":")
	y, _, _ := strings.Cut(b.Principal, ":")
	return x == y
}

// begin takes note of an entry of the batch that is the first of its lane.
func (q *queue) begin(e ledger.Entry) {
	if q.begun == nil {
		q.begun = map[request]ledger.Entry{}
	}
	q.begun[request{e.Writer.Name, e.Digest}] = e
}

func takenBy(first ledger.Entry, r ledger.Request) error {
	what, name := "writer", r.Writer.Name
	if id, ok := strings.CutPrefix(name, requestPrefix); ok {
		what, name = "request ID", id
	}
	return fmt.Errorf("%w: %s: %s; it was written as entry %d by %s, and you are %s over this connection; nothing "+
		"was written now; allowed: nothing more to do if you are sending the same request again (entry %[4]d counts "+
		"it), otherwise a new %[2]s",
		ledger.ErrTaken, what, name, first.Position, first.Writer.Principal, r.Writer.Principal)
}
