// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// setField is the field of an entry that says of which set it is a part.
const setField = 8

// appendSet appends that field; nothing where the ledger was charged alone.
func appendSet(b []byte, e ledger.Entry) []byte {
	p := e.Set
	if p == nil {
		return b
	}
	var room [64]byte
	body := wire.AppendNumber(room[:0], 1, uint64(p.Journal))
	body = wire.AppendNumber(body, 2, p.Position)
	body = wire.AppendNumber(body, 3, uint64(p.Members))
	body = protowire.AppendBytes(wire.AppendTag(body, 4), p.Names[:])
	body = wire.AppendNumber(body, 5, uint64(p.Contribution))
	if e.First {
		body = wire.AppendNumber(body, 6, 1)
	}
	return protowire.AppendBytes(wire.AppendTag(b, setField), body)
}

// readSet reads what appendSet has written of a valid part that has each field at most once, and in order.
func readSet(b []byte) (p *ledger.SetPart, first, ok bool) {
	f := fields{rest: b}
	journal, position, members := f.number(1), f.number(2), f.number(3)
	names, contribution, isFirst := f.bytes(4), f.number(5), f.number(6)
	p = &ledger.SetPart{Journal: uint8(journal), Position: position, Members: uint32(members),
		Contribution: ledger.Contribution(contribution)}
	ok = !f.bad && len(f.rest) == 0 && journal < ledger.Journals && members <= ledger.MaxMembers &&
		copy(p.Names[:], names) == len(names) && len(names) == len(p.Names) &&
		contribution <= uint64(ledger.OverAll) && isFirst <= 1
	return p, isFirst == 1, ok
}

func toSet(m *recordv1.SetPart) (*ledger.SetPart, error) {
	if m == nil {
		return nil, nil
	}
	if err := wire.Known("set", m); err != nil {
		return nil, err
	}
	if m.GetJournal() >= ledger.Journals {
		return nil, invalid("set.journal", fmt.Sprint(m.GetJournal()), fmt.Sprintf("0 to %d", ledger.Journals-1))
	}
	contribution, err := wire.ToContribution("set.contribution", m.GetContribution())
	if err != nil {
		return nil, err
	}
	p := &ledger.SetPart{Journal: uint8(m.GetJournal()), Position: m.GetPosition(), Members: m.GetMembers(),
		Contribution: contribution}
	if n := copy(p.Names[:], m.GetNames()); n != len(m.GetNames()) || n != len(p.Names) {
		return nil, invalid("set.names", fmt.Sprintf("%d bytes", len(m.GetNames())), "32 bytes")
	}
	return p, nil
}

// checkLane checks an entry's writer: a user's, or for a part of a set that of sets.
func checkLane(e ledger.Entry) error {
	p := e.Set
	if p == nil {
		_, err := wire.ToWriter(e.Writer.Principal, e.Writer.Name)
		return err
	}
	if err := wire.CheckPrincipal(e.Writer.Principal); err != nil {
		return err
	}
	switch {
	case e.Writer != ledger.SetWriter(e.Writer.Principal):
		return invalid("writer", wire.Quote(e.Writer.Name), wire.Quote(ledger.SetLane)+", that of sets")
	case p.Position == 0:
		return invalid("set.position", "0", "a whole number ≥ 1")
	case !p.Contribution.Valid():
		return invalid("set.contribution", fmt.Sprint(p.Contribution), "one that is known")
	case e.First && p.Members < 2:
		return invalid("set.first", fmt.Sprintf("true of %d ledger", p.Members), "false, or a set of several ledgers")
	case p.Members == 0 || p.Members > ledger.MaxMembers:
		return invalid("set.members", fmt.Sprint(p.Members), fmt.Sprintf("1 to %d", ledger.MaxMembers))
	}
	return nil
}
