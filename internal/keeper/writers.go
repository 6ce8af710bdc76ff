// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger"
)

func reused(r ledger.Request) error {
	// The key of one charge has no next number.
	if id, ok := strings.CutPrefix(r.Writer.Name, ledger.RequestPrefix); ok {
		return reusedID(id)
	}
	return fmt.Errorf("%w: sequence: %d of writer %s; allowed: the first content again, or the next number",
		ledger.ErrReused, r.Sequence, r.Writer.Name)
}

// reusedID is the ledger.ErrReused of a request ID.
type reusedID string

func (id reusedID) Error() string {
	return "request ID " + string(id) + " already stands for another request; repeat that request exactly, or use a " +
		"new ID"
}

func (reusedID) Is(target error) bool { return target == ledger.ErrReused }

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
	if id, ok := strings.CutPrefix(name, ledger.RequestPrefix); ok {
		what, name = "request ID", id
	}
	return fmt.Errorf("%w: %s: %s; it was written as entry %d by %s, and you are %s over this connection; nothing "+
		"was written now; allowed: nothing more to do if you are sending the same request again (entry %[4]d counts "+
		"it), otherwise a new %[2]s",
		ledger.ErrTaken, what, name, first.Position, first.Writer.Principal, r.Writer.Principal)
}

// writer returns the lane of a writer. The caller must make the lane busy. The caller of this function
// and of those below holds mu.
func (q *queue) writer(key ledger.Writer) *writer {
	w, ok := q.writers[key]
	if !ok {
		w = &writer{q: q, key: key}
		q.writers[key] = w
	} else if !w.busy() {
		q.k.writers.remove(w)
	}
	return w
}

// cameFree is called when w may have come free. It returns the idle writer that
// makes room for it, if any, to be dropped when mu is released.
func (q *queue) cameFree(w *writer) *writer {
	w.freed.wake()
	if w.busy() {
		return nil
	}
	return q.k.writers.add(w)
}

// occupy makes a lane busy with a unary call, unless it is busy.
func (q *queue) occupy(key ledger.Writer, c *call) (*writer, error) {
	w := q.writers[key]
	switch {
	case w == nil:
		w = q.writer(key)
	case w.busy():
		return nil, fmt.Errorf("%w: writer %s of %s", ErrBusy, key.Name, q.name)
	default:
		q.k.writers.remove(w)
	}
	w.call = c
	return w, nil
}

// vacate ends the call that a lane is busy with. Its caller does not hold mu.
func (q *queue) vacate(w *writer) {
	q.mu.Lock()
	w.call = nil
	old := q.cameFree(w)
	q.mu.Unlock()
	q.k.writers.drop(old)
}

// lane returns the lane of a writer in which nobody sends but the daemon.
func (q *queue) lane(key ledger.Writer) *writer {
	q.mu.Lock()
	w := q.writers[key]
	var old *writer
	if w == nil {
		w = q.writer(key)
		old = q.cameFree(w)
	}
	q.mu.Unlock()
	q.k.writers.drop(old)
	return w
}

// firstReceipt returns a committed entry's digest and receipt.
func (q *queue) firstReceipt(b *ledger.Batch, w *writer, sequence uint64) (receipt, error) {
	if w.first.Sequence == sequence {
		return w.first, nil
	}
	record, err := q.k.config.Store.RecordOf(q.name, w.key, sequence)
	if errors.Is(err, ledger.ErrNotFound) { // though its lane has come further
		err = fmt.Errorf("%w: %s: no record of sequence %d of writer %s, which stands at %d",
			ledger.ErrDamaged, q.name, sequence, w.key.Name, w.last)
	}
	if err != nil {
		return receipt{}, err
	}
	return receipt{record.Entry.Digest, record.Receipt(b.StoreOf(record.Entry.Position), q.name)}, nil
}

// written reports whether the store has a request. Another daemon may write it at any moment, for a client that has
// sent it to both, and what that changes may be why it is refused here. So whoever refuses a request without
// asking its lane asks this again, and last: nobody is told of a refusal who was charged before.
func (k *Keeper) written(name string, r *ledger.Request) (bool, error) {
	last, _, err := k.config.Store.Writer(name, r.Writer)
	if errors.Is(err, ledger.ErrNotFound) { // a journal that is not there yet
		return false, nil
	}
	return err == nil && r.Sequence > 0 && r.Sequence <= last, err
}
