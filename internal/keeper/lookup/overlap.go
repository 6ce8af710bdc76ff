// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"github.com/dpaccountant/accountant/internal/ledger"
)

// mostRead bounds how many entries Overlap reads at once.
const mostRead = 1000

// Overlap finds sets of which several of the ledgers that it has read were charged, or had something set aside, with a
// sensitivity in each ledger. What was given back later counts, too. Its zero value has read none.
type Overlap struct {
	next  map[string]uint64 // by ledger: the position from which on it is not read
	first map[place]string  // by set: the first ledger that is in it
	Pairs []Pair
}

// Pair is two ledgers of one set, and where the set is written down.
type Pair struct {
	Ledgers  [2]string
	Journal  uint8
	Position uint64
}

// place is that of a set's entry in its journal.
type place struct {
	journal  uint8
	position uint64
}

// Read reads the entries of a ledger that it has not read yet. It reads none of a ledger that was never in a set.
func (o *Overlap) Read(store ledger.Store, name string) error {
	if o.next == nil {
		o.next, o.first = map[string]uint64{}, map[place]string{}
	}
	from := o.next[name]
	if from == 0 {
		lanes, err := store.Namesakes(name, ledger.Writer{Name: ledger.SetLane})
		if err != nil || len(lanes) == 0 {
			return err
		}
		from = lanes[0].Entry.Position
		for _, r := range lanes[1:] {
			from = min(from, r.Entry.Position)
		}
	}
	for {
		records, err := store.Records(name, from, mostRead)
		if err != nil {
			return err
		}
		for _, r := range records {
			from = r.Entry.Position + 1
			o.add(name, r.Entry.Set)
		}
		o.next[name] = from
		if len(records) < mostRead {
			return nil
		}
	}
}

func (o *Overlap) add(name string, part *ledger.SetPart) {
	if part == nil || part.Members < 2 || part.Contribution == ledger.OverAll {
		return
	}
	at := place{part.Journal, part.Position}
	other, there := o.first[at]
	if part.Contribution == ledger.PeopleDrawnInEach { // no budget holds for whoever is in another ledger of the set
		other, there = "others", true
	}
	if there {
		o.Pairs = append(o.Pairs, Pair{[2]string{other, name}, part.Journal, part.Position})
		return
	}
	o.first[at] = name
}
