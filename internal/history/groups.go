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

// maxCells bounds how many mechanisms all groups have together, and with that the memory.
const maxCells = 400_000

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
	flow       ledger.Flow
	made       map[uint64]*Group // of open reservations, by position; nil by mechanism
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

// NewGroups begins at the empty ledger.
func NewGroups(log Log, name string, by By, key string) *Groups {
	return &Groups{log: log, ledger: name, by: by, key: key, index: map[string]int{},
		at: map[mechanism.Mechanism]uint32{}, made: map[uint64]*Group{}}
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
		if g.cells > maxCells {
			return fmt.Errorf("%w: the groups have more than %d mechanisms together, or are as many; allowed: to "+
				"group by something that has fewer values", ledger.ErrOutOfRange, maxCells)
		}
	}
	return nil
}

func (g *Groups) take(e ledger.Entry) error {
	moves := g.flow.Take(e)
	if len(moves) == 0 {
		return nil
	}
	d := e.Action.Details()
	for i := range moves {
		m := &moves[i]
		from, to, err := g.between(e, d, m)
		if err != nil {
			return err
		}
		var last *Group
		for _, p := range m.Parts {
			n := g.number(p.Mechanism)
			if m.From != ledger.PotBudget && !g.cell(g.groupOf(from, n), n).take(m, p.Count) {
				return fmt.Errorf("%w: entry %d takes more than there is", ledger.ErrDamaged, e.Position)
			}
			if m.To == ledger.PotBudget {
				continue
			}
			group := g.groupOf(to, n)
			g.cell(group, n).put(m, p.Count)
			if g.by == ByMechanism && group != last && len(d.Events) > 0 {
				group.Entries++
				group.Last = e.Time
				last = group
			}
		}
		if to != nil && len(d.Events) > 0 {
			to.Entries++
			to.Last = e.Time
		}
	}
	return nil
}

// between returns the group that a move takes from, and the one that it gives to. By mechanism there are none.
func (g *Groups) between(e ledger.Entry, d ledger.Details, m *ledger.Move) (from, to *Group, err error) {
	switch m.From {
	case ledger.PotCharged:
		from, err = g.charging(m, d.About)
	case ledger.PotReserved:
		if m.Missing {
			return nil, nil, fmt.Errorf("%w: entry %d takes more from reservation %d than that holds",
				ledger.ErrDamaged, e.Position, m.Held.Position)
		}
		if from = g.made[m.Held.Position]; m.To == ledger.PotCharged {
			to = g.spender(e, d, m, from)
		}
		if len(m.Held.Rest) == 0 {
			delete(g.made, m.Held.Position)
		}
	default:
		if to = g.find(e, d, m, nil); m.To == ledger.PotReserved && to != nil {
			g.made[m.Held.Position] = to
		}
	}
	return from, to, err
}

// spender is the group for which an entry charges what a reservation held: that of the entry if a person wrote it,
// and otherwise whoever reserved it; by month, when it was charged.
func (g *Groups) spender(e ledger.Entry, d ledger.Details, m *ledger.Move, made *Group) *Group {
	if len(d.Events) == 0 && g.by != ByMonth {
		return made
	}
	return g.find(e, d, m, made)
}

func (c *cell) take(m *ledger.Move, n uint64) bool {
	of := &c.charged
	if m.From == ledger.PotReserved {
		of = &c.reserved
		if m.Held.Child != "" {
			c.inChild -= n
		}
	}
	before := *of
	*of -= n
	return before >= n
}

func (c *cell) put(m *ledger.Move, n uint64) {
	if m.To == ledger.PotCharged {
		c.charged += n
		return
	}
	c.reserved += n
	if m.Held.Child != "" {
		c.inChild += n
	}
}

// charging is the group for which the entry at a position, which m refunds, has charged. It is read again.
func (g *Groups) charging(m *ledger.Move, position uint64) (*Group, error) {
	e, err := g.entry(position)
	if err != nil || g.by == ByMechanism {
		return nil, err
	}
	d := e.Action.Details()
	if d.From != ledger.PotReserved {
		return g.find(e, d, m, nil), nil
	}
	made, err := g.entry(d.About)
	if err != nil {
		return nil, err
	}
	of := made.Action.Details()
	then := &ledger.Move{Held: &ledger.Reservation{Child: of.Child}}
	return g.spender(e, d, then, g.find(made, of, then, nil)), nil
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

// find returns the group of an entry. made is that of the reservation which m takes from, if it takes from one. By
// mechanism there is none: it is each event that has a group.
func (g *Groups) find(e ledger.Entry, d ledger.Details, m *ledger.Move, made *Group) *Group {
	switch g.by {
	case ByMonth:
		return g.group(e.Time.UTC().Format("2006-01"), false)
	case BySet:
		switch {
		case made != nil && (e.Set != nil || m.Held.Child != ""):
			return made
		case made != nil && made.inEach(): // perhaps for a release that the others' ledgers had, too
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
		if made != nil {
			return made
		}
		return g.group("without label "+g.key, true)
	case ByPrincipal:
		switch {
		case d.Child != "":
			return g.group("child ledger "+d.Child, true)
		case made != nil && m.Held.Child != "":
			return made
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

func (g *Groups) cell(group *Group, m uint32) *cell {
	i, ok := slices.BinarySearchFunc(group.cells, m, func(c cell, m uint32) int { return cmp.Compare(c.mechanism, m) })
	if !ok {
		group.cells = slices.Insert(group.cells, i, cell{mechanism: m})
		g.cells++
	}
	return &group.cells[i]
}
