package lookup

import (
	"errors"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// mostRead bounds how many entries FirstTogether reads.
const mostRead = 1000

// FirstTogether returns the first entry of a ledger that was made together with entries of other ledgers; false if
// there is none. It reads only the lanes of sets. Sets of this ledger alone are passed over, but no more than mostRead:
// behind so many it returns the next entry of a lane, whatever its set has, as if there were others.
func FirstTogether(store ledger.Store, name string) (first ledger.Entry, found bool, err error) {
	lanes, err := store.Namesakes(name, ledger.Writer{Name: ledger.SetLane})
	if err != nil {
		return first, false, err
	}
	read := 0
	for _, r := range lanes {
		for ; err == nil && r.Entry.Set.Members < 2 && read < mostRead; read++ {
			r, err = store.RecordOf(name, r.Entry.Writer, r.Entry.Sequence+1)
		}
		switch {
		case errors.Is(err, ledger.ErrNotFound): // all were alone
			err = nil
		case err != nil:
			return first, false, err
		case !found || r.Entry.Position < first.Position:
			first, found = r.Entry, true
		}
	}
	return first, found, nil
}
