// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// By is what entries are grouped by.
type By uint8

const (
	ByPrincipal By = iota
	ByLabel
	ByMechanism
	ByMonth
	BySet // of ledgers that were charged together, with the contribution; see Sharing
)

// MaxCells bounds how many mechanisms all groups have together, and with that the memory.
const MaxCells = 400_000

// Groups is what each group of entries has charged and set aside. What a reservation held counts, when it is
// charged, for the entry that charges it, if a person wrote that; if time, a closing or a restore did, for the
// entry that reserved it. A refund takes from the group of the entry that it refunds. It is not for concurrent
// use.
type Groups struct {
	log    Log
	ledger string
	by     By
	key    string // of the label

	position   uint64
	index      map[string]int // by name; of mechanisms by their index
	groups     []*Group
	mechanisms []mechanism.Mechanism
	at         map[mechanism.Mechanism]uint32
	open       map[uint64]*holding
	cells      int
}

// Group is what one group has spent.
type Group struct {
	Name      string
	Unnamed   bool                // it has no such label, or a child ledger stands for it
	Mechanism mechanism.Mechanism // nil unless entries are grouped by it
	Entries   uint64
	Last      time.Time       // when the newest of them was taken
	Set       *ledger.SetPart // by set: of an entry of the group; nil if its ledger was charged alone

	cells []cell // by mechanism
}

type cell struct {
	mechanism         uint32
	charged           uint64
	reserved, inChild uint64 // by open reservations; child ledgers' are among the reserved
}

// holding is an open reservation.
type holding struct {
	group *Group // nil by mechanism
	child bool
	rest  []cell // with what is left as charged
}

// NewGroups begins at the empty ledger.
func NewGroups(log Log, name string, by By, key string) *Groups {
	return &Groups{log: log, ledger: name, by: by, key: key, index: map[string]int{},
		at: map[mechanism.Mechanism]uint32{}, open: map[uint64]*holding{}}
}

// Position is that of the newest entry that was taken.
func (g *Groups) Position() uint64 { return g.position }

// Bytes is about what the groups hold in memory.
func (g *Groups) Bytes() int { return 32*g.cells + 200*len(g.groups) + 100*len(g.mechanisms) }

// ReadOn reads the entries up to a position. It ends early if stop says so, with stopped set, and goes on from there
// another time.
func (g *Groups) ReadOn(to uint64, stop func() bool) (stopped bool, err error) {
	return Each(g.log, g.ledger, g.position, to, stop, g.Take)
}

// Take takes the records that follow. After an error the groups are of no further use.
func (g *Groups) Take(records []ledger.Record) error {
	for _, r := range records {
		if r.Entry.Position != g.position+1 {
			return fmt.Errorf("%w: entry %d follows entry %d", ledger.ErrDamaged, r.Entry.Position, g.position)
		}
		if err := g.take(r.Entry); err != nil {
			return err
		}
		g.position = r.Entry.Position
		if g.cells > MaxCells {
			return fmt.Errorf("%w: the groups have more than %d mechanisms together, or are as many; allowed: to "+
				"group by something that has fewer values", ledger.ErrOutOfRange, MaxCells)
		}
	}
	return nil
}

func (g *Groups) take(e ledger.Entry) error {
	d := e.Action.Details()
	switch {
	case d.From == d.To:
		return nil
	case d.From == ledger.PotBudget && d.To == ledger.PotReserved:
		return g.reserve(e, d)
	case d.From == ledger.PotReserved && d.About == 0: // a closing, a restore
		for _, position := range slices.Sorted(keys(g.open)) {
			g.spendRest(position, e)
		}
		return nil
	case d.From == ledger.PotReserved && d.To == ledger.PotBudget:
		g.give(d.About)
		return nil
	case d.From == ledger.PotReserved && len(d.Events) == 0:
		g.spendRest(d.About, e)
		return nil
	case d.From == ledger.PotReserved:
		return g.commit(e, d)
	case d.From == ledger.PotCharged:
		return g.refund(d)
	}
	group := g.of(e, d, nil)
	g.add(group, e, d, func(c *cell, n uint64) { c.charged += n })
	return nil
}

func (g *Groups) reserve(e ledger.Entry, d ledger.Details) error {
	h := &holding{group: g.of(e, d, nil), child: d.Child != ""}
	for _, p := range mechanism.Merge(d.Events) {
		h.rest = append(h.rest, cell{mechanism: g.number(p.Mechanism), charged: p.Count})
	}
	g.add(h.group, e, d, h.hold)
	g.open[e.Position] = h
	return nil
}

func (h *holding) hold(c *cell, n uint64) {
	c.reserved += n
	if h.child {
		c.inChild += n
	}
}

func (h *holding) let(c *cell, n uint64) {
	c.reserved -= n
	if h.child {
		c.inChild -= n
	}
}

// give gives back what is left of a reservation.
func (g *Groups) give(position uint64) {
	if h := g.open[position]; h != nil {
		for _, c := range h.rest {
			h.let(g.cell(g.groupOf(h.group, c.mechanism), c.mechanism), c.charged)
		}
		delete(g.open, position)
	}
}

// spendRest charges what is left of a reservation, for whoever reserved it; by month, for when that was.
func (g *Groups) spendRest(position uint64, e ledger.Entry) {
	h := g.open[position]
	if h == nil {
		return
	}
	rest := h.rest
	g.give(position)
	to := h.group
	if g.by == ByMonth {
		to = g.of(e, ledger.Details{}, nil)
	}
	for _, c := range rest {
		g.cell(g.groupOf(to, c.mechanism), c.mechanism).charged += c.charged
	}
}

func (g *Groups) commit(e ledger.Entry, d ledger.Details) error {
	h := g.open[d.About]
	if h == nil {
		return fmt.Errorf("%w: entry %d is about reservation %d, which is not open", ledger.ErrDamaged, e.Position,
			d.About)
	}
	for _, p := range mechanism.Merge(d.Events) {
		m := g.number(p.Mechanism)
		i := slices.IndexFunc(h.rest, func(c cell) bool { return c.mechanism == m })
		if i < 0 || h.rest[i].charged < p.Count {
			return fmt.Errorf("%w: entry %d charges more than reservation %d has", ledger.ErrDamaged, e.Position,
				d.About)
		}
		h.rest[i].charged -= p.Count
		h.let(g.cell(g.groupOf(h.group, m), m), p.Count)
	}
	h.rest = slices.DeleteFunc(h.rest, func(c cell) bool { return c.charged == 0 })
	if len(h.rest) == 0 {
		delete(g.open, d.About)
	}
	g.add(g.of(e, d, h), e, d, func(c *cell, n uint64) { c.charged += n })
	return nil
}

func (g *Groups) refund(d ledger.Details) error {
	group, err := g.charging(d.About)
	if err != nil {
		return err
	}
	for _, p := range mechanism.Merge(d.Events) {
		m := g.number(p.Mechanism)
		g.cell(g.groupOf(group, m), m).charged -= p.Count
	}
	return nil
}

// charging is the group for which the entry at a position has charged, read again.
func (g *Groups) charging(position uint64) (*Group, error) {
	e, err := g.entry(position)
	if err != nil || g.by == ByMechanism {
		return nil, err
	}
	d := e.Action.Details()
	if d.From != ledger.PotReserved || d.About == 0 {
		return g.find(e, d, nil), nil
	}
	made, err := g.entry(d.About)
	if err != nil {
		return nil, err
	}
	md := made.Action.Details()
	h := &holding{group: g.find(made, md, nil), child: md.Child != ""}
	switch {
	case len(d.Events) > 0:
		return g.find(e, d, h), nil
	case g.by == ByMonth: // it expired then
		return g.find(e, ledger.Details{}, nil), nil
	}
	return h.group, nil
}

func (g *Groups) entry(position uint64) (ledger.Entry, error) {
	found, err := g.log.Records(g.ledger, position, 1)
	if err != nil {
		return ledger.Entry{}, err
	}
	if len(found) == 0 || found[0].Entry.Position != position {
		return ledger.Entry{}, fmt.Errorf("%w: ledger %s has no entry %d", ledger.ErrDamaged, g.ledger, position)
	}
	return found[0].Entry, nil
}

// of is find for an entry that is counted.
func (g *Groups) of(e ledger.Entry, d ledger.Details, from *holding) *Group {
	group := g.find(e, d, from)
	if group != nil && len(d.Events) > 0 {
		group.Entries++
		group.Last = e.Time
	}
	return group
}

// find returns the group of an entry, of which from is the reservation if it charges one. By mechanism there
// is none: it is each event that has a group.
func (g *Groups) find(e ledger.Entry, d ledger.Details, from *holding) *Group {
	switch g.by {
	case ByMonth:
		return g.group(e.Time.UTC().Format("2006-01"), false)
	case BySet:
		switch {
		case from != nil && (e.Set != nil || from.child):
			return from.group
		case from != nil && from.group.inEach(): // perhaps for a release that the others' ledgers had, too
			return g.group("committed alone", true)
		case d.Child != "":
			return g.group("child ledgers", true)
		case d.Elsewhere != 0: // which other ledgers had it is not known
			group := g.group(fmt.Sprintf("lost %d", d.Elsewhere), true)
			group.Set = &ledger.SetPart{Members: 2, Contribution: d.Elsewhere}
			return group
		case e.Set == nil:
			return g.group("alone", true)
		}
		group := g.group(fmt.Sprintf("%x %d", e.Set.Names, e.Set.Contribution), false)
		group.Set = e.Set
		return group
	case ByLabel:
		for _, l := range d.Labels {
			if l.Key == g.key {
				return g.group(l.Value, false)
			}
		}
		if from != nil {
			return from.group
		}
		return g.group("without label "+g.key, true)
	case ByPrincipal:
		switch {
		case d.Child != "":
			return g.group("child ledger "+d.Child, true)
		case from != nil && from.child:
			return from.group
		}
		return g.group(e.Writer.Principal, false)
	}
	return nil
}

// inEach reports whether several ledgers have what g has, with a sensitivity in each.
func (g *Group) inEach() bool {
	return g.Set != nil && g.Set.Members > 1 && g.Set.Contribution != ledger.OverAll
}

// group returns the group of a name. Of a name that stands in entries and the same text in our own words there
// are two.
func (g *Groups) group(name string, unnamed bool) *Group {
	key := "\x00" + name
	if unnamed {
		key = "\x01" + name
	}
	i, ok := g.index[key]
	if !ok {
		i = len(g.groups)
		g.index[key] = i
		g.groups = append(g.groups, &Group{Name: name, Unnamed: unnamed})
		g.cells++ // a group without mechanisms takes memory, too
	}
	return g.groups[i]
}

// groupOf is the given group or, by mechanism, that of the mechanism.
func (g *Groups) groupOf(group *Group, m uint32) *Group {
	if g.by != ByMechanism {
		return group
	}
	return g.groups[m]
}

// number is a mechanism's index, and by mechanism that of its group, too.
func (g *Groups) number(m mechanism.Mechanism) uint32 {
	i, ok := g.at[m]
	if !ok {
		i = uint32(len(g.mechanisms))
		g.at[m] = i
		g.mechanisms = append(g.mechanisms, m)
		if g.by == ByMechanism {
			g.groups = append(g.groups, &Group{Name: m.String(), Mechanism: m})
		}
	}
	return i
}

// add counts the events of an entry for a group, which is not looked at by mechanism.
func (g *Groups) add(group *Group, e ledger.Entry, d ledger.Details, count func(*cell, uint64)) {
	var last *Group
	for _, event := range d.Events {
		m := g.number(event.Mechanism)
		to := g.groupOf(group, m)
		if g.by == ByMechanism && to != last {
			to.Entries++
			to.Last = e.Time
			last = to
		}
		count(g.cell(to, m), uint64(event.Count))
	}
}

func (g *Groups) cell(group *Group, m uint32) *cell {
	i, ok := slices.BinarySearchFunc(group.cells, m, func(c cell, m uint32) int { return cmp.Compare(c.mechanism, m) })
	if !ok {
		group.cells = slices.Insert(group.cells, i, cell{mechanism: m})
		g.cells++
	}
	return &group.cells[i]
}

func keys(m map[uint64]*holding) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
