// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/record"
)

// setAt names a set: its journal's number and the position there.
type setAt struct {
	journal  uint8
	position uint64
}

func (a setAt) finding(what, expected string, found any) error {
	return finding(ledger.JournalName(a.journal), a.position, what, expected, fmt.Sprint(found))
}

// sets are what journals say was done in several ledgers. Each member's entry is in its journal's entry, and the other
// way round. The journals come first, one after the other; then each member's ledger changes its own parts only.
type sets struct {
	names    map[string]uint64 // of all ledgers, with their numbers
	said     map[setAt][]part
	reserved map[setAt][32]byte // the reservations of a set, by their members
	about    []about
}

// part is what a journal says of one member.
type part struct {
	number uint64 // of the ledger
	is     [32]byte
	found  bool
}

// about is a commit or a release of what another set has reserved.
type about struct {
	at, of   setAt
	reserved [32]byte
	name     string // of's journal
}

// took takes an entry of any ledger. It reports whether a member's entry differs from what its journal says.
func (s *sets) took(name string, number uint64, e ledger.Entry) (differs bool, err error) {
	if together, ok := e.Action.(ledger.Together); ok {
		s.say(name, e, together)
		return false, nil
	}
	if e.Set == nil {
		return false, nil
	}
	at := setAt{e.Set.Journal, e.Set.Position}
	said, ok := s.said[at]
	if !ok {
		return false, at.finding("entry", "what its members' entries name",
			fmt.Sprintf("none, for entry %d of ledger %s",
				e.Position, name))
	}
	i := 0
	for i < len(said) && said[i].number != number { // others' parts may be found meanwhile
		i++
	}
	switch {
	case i == len(said):
		return false, at.finding("members", fmt.Sprintf("entries of %d ledgers", len(said)),
			fmt.Sprintf("entry %d of ledger %s, too", e.Position, name))
	case said[i].found:
		return false, at.finding("members", "one entry of each",
			fmt.Sprintf("entry %d of ledger %s is a second one", e.Position, name))
	case said[i].is != partHash(e.Position, e.Writer.Principal, e.Digest, *e.Set):
		return true, nil
	}
	said[i].found = true
	return false, nil
}

// remember takes an entry of any ledger whose set was found whole before: only what the set has reserved is asked for
// again.
func (s *sets) remember(name string, e ledger.Entry) {
	if together, ok := e.Action.(ledger.Together); ok {
		journal, _ := ledger.JournalNumber(name)
		s.reserve(setAt{journal, e.Position}, together)
	}
}

// reserve notes what a set has reserved, if it has.
func (s *sets) reserve(at setAt, together ledger.Together) {
	if _, ok := together.Action.(ledger.Reserve); ok {
		s.reserved[at] = reservations(together.Members, func(m ledger.Member) uint64 { return m.Position })
	}
}

// say takes a journal's entry.
func (s *sets) say(name string, e ledger.Entry, together ledger.Together) {
	journal, _ := ledger.JournalNumber(name)
	at := setAt{journal, e.Position}
	set := setPart(at, together)
	parts := make([]part, len(together.Members))
	for i, m := range together.Members {
		parts[i] = part{number: s.names[m.Ledger],
			is: partHash(m.Position, e.Writer.Principal, record.Digest(together.In(m)), set)}
	}
	s.said[at] = parts
	if together.AboutReservation() {
		number, _ := ledger.JournalNumber(together.Journal)
		s.about = append(s.about, about{at, setAt{number, together.Action.Details().About},
			reservations(together.Members, func(m ledger.Member) uint64 { return m.Reservation }), together.Journal})
	}
	s.reserve(at, together)
}

func setPart(at setAt, said ledger.Together) ledger.SetPart {
	return ledger.SetPart{Journal: at.journal, Position: at.position, Members: uint32(len(said.Members)),
		Names: ledger.NamesHash(said.Members), Contribution: said.Contribution}
}

// partHash stands for a member's entry, as far as its journal says what it is.
func partHash(position uint64, by string, digest ledger.Digest, set ledger.SetPart) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d %q %x %+v", position, by, digest, set))
}

// end looks for what no entry was found of, once all ledgers were gone through.
func (s *sets) end() error {
	var least *setAt
	for at, parts := range s.said {
		whole := !slices.ContainsFunc(parts, func(p part) bool { return !p.found })
		if !whole && (least == nil || at.journal < least.journal ||
			at.journal == least.journal && at.position < least.position) {
			least = &at
		}
	}
	if least != nil {
		parts := s.said[*least]
		found := 0
		for _, p := range parts {
			if p.found {
				found++
			}
		}
		return least.finding("members", fmt.Sprintf("entries of %d ledgers", len(parts)), found)
	}
	for _, a := range s.about { // in the order of the journals and their entries
		if a.reserved != s.reserved[a.of] {
			return a.at.finding("reservation", "the ledgers and the positions of a set's reservation",
				fmt.Sprintf("others than those of entry %d of %s", a.of.position, a.name))
		}
	}
	return nil
}

// reservations stands for the reservations of all members.
func reservations(members []ledger.Member, position func(ledger.Member) uint64) [32]byte {
	h := sha256.New()
	for _, m := range members {
		_, _ = fmt.Fprintf(h, "%s %d\n", m.Ledger, position(m))
	}
	return [32]byte(h.Sum(nil))
}
