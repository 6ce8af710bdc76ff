// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/record"
)

// modelJournal is the only journal of the model, and journalWriters are lanes whose sets are written down there.
const modelJournal = "system:sets/0"

var journalWriters = func() (list []ledger.Writer) {
	for i := 0; len(list) < 2; i++ {
		name := fmt.Sprintf("00000000-0000-4000-9000-%012x", i)
		if ledger.JournalName(ledger.JournalOf(name)) == modelJournal {
			list = append(list, ledger.Writer{Principal: setPrincipal, Name: name})
		}
	}
	return list
}()

// set charges one to three ledgers together, and writes that down in the journal, which the first set makes. One
// of them may be on an older head, or closed: then none of it is there.
func (m *model) set(rt *rapid.T) {
	names := m.names()
	if len(names) == 0 {
		return
	}
	chosen := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, min(3, len(names)),
		rapid.ID[string]).Draw(rt, "ledgers")
	slices.Sort(chosen)
	charge := ledger.Charge{Events: []mechanism.Event{{Mechanism: mech(rapid.IntRange(0, 14).Draw(rt, "mechanism")),
		Count: rapid.Uint32Min(1).Draw(rt, "count")}}}
	journal := m.ledgers[modelJournal]
	made := journal == nil
	if made {
		journal = &modelLedger{spec: journalGenesis(modelJournal).Spec}
	}
	refused := false
	together := ledger.Together{Action: charge, Contribution: ledger.InEach}
	var on []int
	for _, name := range chosen {
		l := m.ledgers[name]
		at := len(l.entries)
		if rapid.IntRange(0, 9).Draw(rt, "stale") == 0 && at > 0 {
			at, refused = rapid.IntRange(0, at-1).Draw(rt, "head"), true
		}
		now := l.after(at)
		refused = refused || now.Closed
		if now.Unreconciled { // it takes no charge; the store does not ask
			return
		}
		on = append(on, at)
		together.Members = append(together.Members, ledger.Member{Ledger: name, Position: uint64(at) + 1})
	}
	part := &ledger.SetPart{Contribution: ledger.InEach, Position: uint64(len(journal.entries)) + 1,
		Members: uint32(len(chosen)),
		Names:   ledger.NamesHash(together.Members)}
	var batch []ledger.Proposal
	for i, name := range chosen {
		l := m.ledgers[name]
		before := &modelLedger{spec: l.spec, genesis: l.genesis, entries: l.entries[:on[i]], hashes: l.hashes}
		batch = append(batch, l.one(before, ledger.SetWriter(setPrincipal), charge, part))
	}
	p := journal.one(journal, rapid.SampledFrom(journalWriters).Draw(rt, "key"), together, nil)
	if made {
		p.Genesis, p.Expected = journalGenesis(modelJournal), ledger.Head{}
	}
	hashes, err := m.s.Append(append(batch, p))
	switch {
	case m.h.MaxBatchBytes > 0 && errors.Is(err, ledger.ErrTooLarge):
		return
	case refused:
		if err == nil {
			rt.Fatalf("a set of %v was taken on an old head, or with a closed ledger", chosen)
		}
		return
	case err != nil || len(hashes) != len(batch)+1:
		rt.Fatalf("a set of %v: %d hash lists, %v", chosen, len(hashes), err)
	}
	for i, name := range chosen {
		m.ledgers[name].add(batch[i], hashes[i])
	}
	if made {
		_, hash, err := m.s.GenesisRecord(modelJournal)
		if err != nil {
			rt.Fatal(err)
		}
		journal.genesis = hash
		m.ledgers[modelJournal] = journal
	}
	journal.add(p, hashes[len(batch)])
}

// one proposes one entry on top of a ledger as it was before.
func (l *modelLedger) one(before *modelLedger, w ledger.Writer, v ledger.Action, part *ledger.SetPart) ledger.Proposal {
	at := len(before.entries)
	sequence, _ := before.last(w)
	e := ledger.Entry{Position: uint64(at) + 1, Writer: w, Sequence: sequence + 1, Time: timeOf(at), Action: v,
		Digest: record.Digest(v), Set: part}
	then := before.after(at)
	after := &modelLedger{spec: l.spec, entries: append(slices.Clone(before.entries), e)}
	now := after.after(at + 1)
	p := ledger.Proposal{Ledger: l.spec.Name, Expected: then.Head, Entries: []ledger.Entry{e}, Total: now.Total,
		Closed: now.Closed, Unreconciled: now.Unreconciled}
	for i, part := range now.Parts {
		if i >= len(then.Parts) || part != then.Parts[i] {
			p.Counts = append(p.Counts, ledger.CountChange{Index: i, Mechanism: part.Mechanism, Total: part.Count})
		}
	}
	return p
}

func (l *modelLedger) add(p ledger.Proposal, hashes []ledger.Hash) {
	l.entries = append(l.entries, p.Entries...)
	l.hashes = append(l.hashes, hashes...)
}
