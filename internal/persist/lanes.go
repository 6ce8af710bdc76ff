package persist

import "github.com/dpaccountant/accountant/internal/ledger"

// lanes holds the lanes that a proposal writes to.
type lanes struct {
	w       *writing
	before  head // of the ledger, before the proposal
	touched []touched
	index   map[ledger.Writer]int // of touched, once there are many
}

type touched struct {
	lane
	writer ledger.Writer
	fresh  bool // it has no row yet
}

// few is the number of lanes up to which they are searched without an index.
const few = 8

// lane returns a writer's lane. The caller may change it with advance before it calls lane
// again.
func (ls *lanes) lane(w ledger.Writer) (*touched, error) {
	if i, ok := ls.find(w); ok {
		return &ls.touched[i], nil
	}
	l, err := ls.w.lane(ls.before, w)
	if err != nil {
		return nil, err
	}
	ls.touched = append(ls.touched, touched{lane: l, writer: w, fresh: l.id == 0})
	last := len(ls.touched) - 1
	switch {
	case ls.index != nil:
		ls.index[w] = last
	case last == few:
		ls.index = make(map[ledger.Writer]int, 4*few)
		for i, t := range ls.touched {
			ls.index[t.writer] = i
		}
	}
	return &ls.touched[last], nil
}

func (ls *lanes) find(w ledger.Writer) (int, bool) {
	if ls.index != nil {
		i, ok := ls.index[w]
		return i, ok
	}
	for i := range ls.touched {
		if ls.touched[i].writer == w {
			return i, true
		}
	}
	return 0, false
}

// advance makes e, at a log key, the lane's newest entry.
func (t *touched) advance(e ledger.Entry, key uint64) {
	if t.id == 0 {
		t.id = key
	}
	t.sequence, t.position, t.last = e.Sequence, e.Position, key
}

// stage writes the lanes' rows and returns the lane of the newest writer. That lane is kept in
// the head; its own row is created but not rewritten. The lane that the head held before gets
// its row back.
func (ls *lanes) stage(newest ledger.Writer) (lane, error) {
	var last lane
	kept := ls.before.writer == 0 // nothing was in the head
	for _, t := range ls.touched {
		if t.writer == newest {
			last = t.lane
		}
		if t.fresh || t.writer != newest {
			ls.w.stageLane(ls.before, t.writer, t.lane)
		}
		kept = kept || t.id == ls.before.writer
	}
	if !kept {
		// The lane's name is in its newest entry, the ledger's newest too.
		r, err := ls.w.entry(ls.before.number, ls.before.last)
		if err != nil {
			return lane{}, err
		}
		ls.w.stageLane(ls.before, r.Entry.Writer, ls.before.lane())
	}
	return last, nil
}
