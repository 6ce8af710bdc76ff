// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist"
)

// estate is what a dead daemon's file says of datasets and their ledgers, added up by hand from the
// stored entries, in eighths of ε.
type estate struct {
	ledgers  map[string]*estateLedger
	datasets map[string]*estateDataset // by the name of the record
}

type estateLedger struct {
	dataset string // the name of the record, whether it is there or not
	parent  string // at its creation
	adopted bool
	closed  bool
	policy  ledger.Policy
	may     int // all that it may spend
	charged int
	entries []ledger.Record
}

type estateDataset struct {
	limit   int
	adopted int            // as its entry says
	open    map[string]int // what it has set aside, by ledger
	shares  map[string]int // how many open shares each ledger has
	spent   map[string]int // what it was charged for a ledger
	entries []ledger.Record
}

// readEstate reads a copy of the file.
func readEstate(t *testing.T, dir string) *estate {
	t.Helper()
	to := t.TempDir()
	for _, name := range []string{persist.FileName, persist.FileName + ".acknowledged"} {
		copyFile(t, filepath.Join(dir, name), filepath.Join(to, name))
	}
	s, err := persist.Open(persist.Config{Path: filepath.Join(to, persist.FileName)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(to) // one for each kill
	}()
	e := &estate{map[string]*estateLedger{}, map[string]*estateDataset{}}
	for after := ""; ; {
		page, err := s.List("", after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, sum := range page {
			after = sum.Genesis.Spec.Name
			records, err := s.Records(after, 1, math.MaxInt32)
			if err != nil {
				t.Fatal(err)
			}
			if sum.Genesis.Spec.Dataset != nil {
				e.datasets[after] = newEstateDataset(t, sum.Genesis.Spec, records)
			} else {
				e.ledgers[after] = newEstateLedger(t, sum.Genesis.Spec, records)
			}
		}
		if len(page) < 1000 {
			return e
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// inEighths is an ε in eighths.
func inEighths(t *testing.T, epsilon float64) int {
	t.Helper()
	n := epsilon / eighth
	if n != math.Trunc(n) {
		t.Fatalf("ε = %v; allowed: eighths", epsilon)
	}
	return int(n)
}

// size is what events cost.
func size(t *testing.T, events []mechanism.Event) (n int) {
	t.Helper()
	for _, e := range events {
		n += int(e.Count) * inEighths(t, e.Mechanism.(mechanism.PureDP).Epsilon)
	}
	return n
}

func newEstateLedger(t *testing.T, spec ledger.Spec, records []ledger.Record) *estateLedger {
	t.Helper()
	l := &estateLedger{dataset: "dataset:" + spec.DatasetID, parent: spec.Parent, policy: spec.Policy,
		entries: records, may: size(t, spec.Plan.Events)}
	for _, b := range spec.Budgets {
		l.may = inEighths(t, b.Epsilon)
	}
	for _, r := range records {
		switch v := r.Entry.Action.(type) {
		case ledger.Charge:
			l.charged += size(t, v.Events)
		case ledger.Raise:
			l.may = inEighths(t, v.Budgets[0].Epsilon)
		case ledger.Close:
			l.closed = true
		case ledger.Adopt:
			l.adopted = true
		default:
			t.Errorf("ledger %s: entry %d: %T, which nobody asked for", spec.Name, r.Entry.Position, v)
		}
	}
	return l
}

func newEstateDataset(t *testing.T, spec ledger.Spec, records []ledger.Record) *estateDataset {
	t.Helper()
	d := &estateDataset{limit: inEighths(t, spec.Budgets[0].Epsilon), open: map[string]int{},
		shares: map[string]int{}, spent: map[string]int{}, entries: records}
	type share struct {
		of   string
		left int
	}
	shares := map[uint64]*share{}
	for _, r := range records {
		switch v := r.Entry.Action.(type) {
		case ledger.Reserve:
			shares[r.Entry.Position] = &share{v.Child, size(t, v.Events)}
		case ledger.Commit:
			shares[v.Reservation].left -= size(t, v.Events)
			d.spent[shares[v.Reservation].of] += size(t, v.Events)
		case ledger.Release:
			shares[v.Reservation].left = 0
		case ledger.AmendDataset:
			if len(v.Budgets) > 0 {
				d.limit = inEighths(t, v.Budgets[0].Epsilon)
			}
		case ledger.Adopt:
			d.adopted += int(v.Ledgers)
		default:
			t.Errorf("%s: entry %d: %T, which nobody asked for", spec.Name, r.Entry.Position, v)
		}
		sum := 0
		for _, s := range shares {
			sum += s.left
		}
		for _, n := range d.spent {
			sum += n
		}
		if sum > d.limit {
			t.Errorf("%s: entry %d: %d eighths set aside and spent of %d", spec.Name, r.Entry.Position, sum, d.limit)
		}
	}
	for _, s := range shares {
		if s.left > 0 {
			d.open[s.of] += s.left
			d.shares[s.of]++
		}
	}
	return d
}

// check finds what is half done, and budgets that are overrun.
func (e *estate) check(t *testing.T) {
	t.Helper()
	used, adopted := map[string]int{}, map[string]int{}
	for name, l := range e.ledgers {
		d := e.datasets[l.dataset]
		below := l.parent == l.dataset || l.adopted
		switch {
		case l.parent != "" && l.parent != l.dataset:
			t.Errorf("ledger %s: its parent is %s; want %s", name, l.parent, l.dataset)
		case d == nil && below:
			t.Errorf("ledger %s is below %s, which is not there: half a registration", name, l.dataset)
		case d == nil:
		case !below && !l.closed:
			t.Errorf("ledger %s is not below its dataset: half a registration", name)
		case l.closed && l.policy == ledger.Descriptive:
			e.covers(t, name, d.spent[name], l.charged)
		case l.closed && l.policy == ledger.Planned:
			e.covers(t, name, d.spent[name]+d.open[name], l.charged)
		case d.open[name]+d.spent[name] != l.may:
			t.Errorf("ledger %s: %d eighths are set aside and %d spent for it; it may spend %d", name, d.open[name],
				d.spent[name], l.may)
		case d.shares[name] > 1:
			t.Errorf("ledger %s: %d shares; want one", name, d.shares[name])
		}
		if d != nil {
			used[l.dataset] += l.charged
			if l.parent == "" {
				adopted[l.dataset]++
			}
		}
		if l.policy != ledger.Descriptive && l.charged > l.may {
			t.Errorf("ledger %s: %d eighths charged of %d", name, l.charged, l.may)
		}
	}
	for name, d := range e.datasets {
		if used[name] > d.limit {
			t.Errorf("%s: its ledgers were charged %d eighths of %d", name, used[name], d.limit)
		}
		if adopted[name] != d.adopted {
			t.Errorf("%s: %d ledgers were adopted; its entry says %d", name, adopted[name], d.adopted)
		}
		for of := range d.open {
			if e.ledgers[of] == nil {
				t.Errorf("%s has a share of %s, which is not there: half a creation", name, of)
			}
		}
	}
}

func (e *estate) covers(t *testing.T, name string, paid, charged int) {
	t.Helper()
	if paid < charged {
		t.Errorf("ledger %s: %d eighths are paid for it and %d were charged", name, paid, charged)
	}
}

// has compares what was acknowledged with what is there: each write once, as its receipt says.
func (e *estate) has(t *testing.T, told []writes) {
	t.Helper()
	for _, w := range told {
		for ledger, receipts := range w.kept {
			found := map[string]int{}
			for _, r := range e.entriesOf(ledger) {
				key := strings.TrimPrefix(r.Entry.Writer.Name, "request/")
				found[key]++
				kept, hash := receipts[key], string(r.Hash[:])
				if kept != nil && (kept.GetPosition() != r.Entry.Position || string(kept.GetHeadHash()) != hash) {
					t.Errorf("%s: %s: receipt %v; entry %d", ledger, key, kept, r.Entry.Position)
				}
			}
			for key := range receipts {
				if found[key] != 1 {
					t.Errorf("%s: %s was acknowledged and is there %d times", ledger, key, found[key])
				}
			}
		}
		for _, name := range w.created {
			if e.ledgers[name] == nil {
				t.Errorf("ledger %s was acknowledged and is missing", name)
			}
		}
		for _, name := range w.refused {
			if e.ledgers[name] != nil {
				t.Errorf("ledger %s was refused and is there", name)
			}
		}
		for _, id := range w.ids {
			d := e.datasets["dataset:"+id]
			if d == nil {
				t.Errorf("dataset %s was acknowledged and is missing", id)
				continue
			}
			for _, name := range w.adopted[id] {
				if d.open[name]+d.spent[name] == 0 {
					t.Errorf("dataset %s: it has adopted %s, and pays nothing for it", id, name)
				}
			}
		}
	}
}

func (e *estate) entriesOf(name string) []ledger.Record {
	switch {
	case e.datasets[name] != nil:
		return e.datasets[name].entries
	case e.ledgers[name] != nil:
		return e.ledgers[name].entries
	}
	return nil
}

// hasNoMore wants nothing that was not acknowledged, once nothing is in flight.
func (e *estate) hasNoMore(t *testing.T, told []writes) {
	t.Helper()
	kept, created, ids := map[string]bool{}, 0, 0
	for _, w := range told {
		for ledger, receipts := range w.kept {
			for key := range receipts {
				kept[ledger+" request/"+key] = true
			}
		}
		created, ids = created+len(w.created), ids+len(w.ids)
	}
	if len(e.ledgers) != created || len(e.datasets) != ids {
		t.Errorf("%d ledgers and %d datasets; acknowledged were %d and %d", len(e.ledgers), len(e.datasets), created,
			ids)
	}
	unknown := func(name string, records []ledger.Record) {
		for _, r := range records {
			w := r.Entry.Writer
			if w.Principal != ledger.Daemon && !kept[fmt.Sprint(name, " ", w.Name)] {
				t.Errorf("%s: entry %d of %s was not acknowledged", name, r.Entry.Position, w.Name)
			}
		}
	}
	for name, l := range e.ledgers {
		unknown(name, l.entries)
	}
	for name, d := range e.datasets {
		unknown(name, d.entries)
	}
}
