// Package setlanes remembers how far the lanes of a ledger have come in which the daemon writes the ledger's parts
// of sets.
package setlanes

import "github.com/dpaccountant/accountant/internal/ledger"

// Lanes has where some lanes stand. It holds as long as the ledger's state in memory, of which epoch is the
// number. Its zero value knows none.
type Lanes struct {
	epoch uint64
	known map[ledger.Writer]ledger.Lane
}

// most bounds the lanes that are kept; the others are read from the store.
const most = 64

// Put takes note of an entry that was written, if it is a part of a set.
func (l *Lanes) Put(epoch uint64, e ledger.Entry) {
	if e.Set != nil {
		l.Keep(epoch, e.Writer, ledger.Lane{Sequence: e.Sequence, Position: e.Position})
	}
}

// Keep remembers where a lane stands.
func (l *Lanes) Keep(epoch uint64, w ledger.Writer, at ledger.Lane) {
	if l.known == nil || l.epoch != epoch || len(l.known) >= most {
		l.known = map[ledger.Writer]ledger.Lane{}
	}
	l.epoch, l.known[w] = epoch, at
}

// At returns where a lane stands, if that is known.
func (l *Lanes) At(epoch uint64, w ledger.Writer) (ledger.Lane, bool) {
	at, ok := l.known[w]
	return at, ok && l.epoch == epoch
}
