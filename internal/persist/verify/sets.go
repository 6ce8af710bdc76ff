package verify

import (
	"crypto/sha256"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
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

// both are the two sides of a set, as far as they were found: what its journal says, and the entries of
// its members by the numbers of their ledgers. They are written together, so few are ever incomplete.
type both struct {
	by    string // the principal
	said  *ledger.Together
	parts map[uint64]ledger.Entry
}

// sets compares what journals say was done in several ledgers with the entries of these ledgers, both
// ways: each member's entry is in its journal's entry, and the other way round.
func (v *verifier) sets() error {
	open, reserved := map[setAt]*both{}, map[setAt][32]byte{}
	err := v.eachRecord(func(number, key uint64, l rows.Logged) error {
		if number == key || !ofSets(l.Raw) {
			return nil
		}
		e, _, _, err := record.UnmarshalEntry(l.Raw)
		if err != nil {
			return rows.DamagedBytes(key, err)
		}
		var at setAt
		together, journal := e.Action.(ledger.Together)
		switch {
		case journal:
			at = setAt{ledger.JournalOf(e.Writer.Name), e.Position}
		case e.Set != nil:
			at = setAt{e.Set.Journal, e.Set.Position}
		default:
			return nil
		}
		b := open[at]
		if b == nil {
			b = &both{parts: map[uint64]ledger.Entry{}}
			open[at] = b
		}
		if journal {
			b.said, b.by = &together, e.Writer.Principal
		} else if _, twice := b.parts[number]; twice {
			return at.finding("members", "one entry of each",
				fmt.Sprintf("entry %d of ledger number %d is a second one", e.Position, number))
		} else {
			b.parts[number] = e
		}
		if b.said == nil || len(b.parts) < len(b.said.Members) {
			return nil
		}
		delete(open, at)
		return v.agree(at, b, reserved)
	})
	if err != nil {
		return err
	}
	for at, b := range open {
		if b.said == nil {
			return at.finding("entry", "what its members' entries name",
				fmt.Sprintf("none, for %d entries", len(b.parts)))
		}
		return at.finding("members", fmt.Sprintf("entries of %d ledgers", len(b.said.Members)), len(b.parts))
	}
	return nil
}

// agree compares the two sides of a set.
func (v *verifier) agree(at setAt, b *both, reserved map[setAt][32]byte) error {
	if len(b.parts) != len(b.said.Members) {
		return at.finding("members", fmt.Sprintf("entries of %d ledgers", len(b.said.Members)), len(b.parts))
	}
	names := ledger.NamesHash(b.said.Members)
	for _, m := range b.said.Members {
		number, err := v.Number(m.Ledger)
		e, there := b.parts[number]
		if err != nil || !there {
			return at.finding("members", "an entry of ledger "+m.Ledger, "none")
		}
		part := ledger.SetPart{Journal: at.journal, Position: at.position, Members: uint32(len(b.said.Members)),
			Names: names, Contribution: b.said.Contribution}
		if e.Position != m.Position || *e.Set != part || e.Writer.Principal != b.by ||
			e.Digest != record.Digest(b.said.In(m)) {
			return finding(m.Ledger, e.Position, "part of a set", fmt.Sprintf("entry %d by %s, %+v of %+v", m.Position,
				b.by, b.said.In(m), part), fmt.Sprintf("by %s, %+v of %+v", e.Writer.Principal, e.Action, *e.Set))
		}
	}
	if !b.said.AboutReservation() {
		if _, ok := b.said.Action.(ledger.Reserve); ok {
			reserved[at] = reservations(b.said.Members, func(m ledger.Member) uint64 { return m.Position })
		}
		return nil
	}
	number, _ := ledger.JournalNumber(b.said.Journal)
	of := setAt{number, b.said.Action.Details().About}
	if reservations(b.said.Members, func(m ledger.Member) uint64 { return m.Reservation }) != reserved[of] {
		return at.finding("reservation", "the ledgers and the positions of a set's reservation",
			fmt.Sprintf("others than those of entry %d of %s", of.position, b.said.Journal))
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

// ofSets reports whether stored bytes have one of the fields of an entry that sets need.
func ofSets(raw []byte) bool {
	const together, set = 30, 31
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return false
		}
		if number == together || number == set {
			return true
		}
		m := protowire.ConsumeFieldValue(number, kind, raw[n:])
		if m < 0 {
			return false
		}
		raw = raw[n+m:]
	}
	return false
}
