// SPDX-License-Identifier: Apache-2.0

package persist

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/persist/verify"
	"github.com/dpaccountant/accountant/internal/record"
)

// A store in which a set is in one of its members only, in its journal only, or in a member that its
// journal does not name or names with something else, does not verify.
func TestVerifySets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members []string // that have an entry
		said    []string // by the journal; nil: it has none
		count   uint32   // that the members' entries charge, where the journal says 1
		found   string
	}{
		"whole":                      {[]string{"a", "b"}, []string{"a", "b"}, 1, ""},
		"a member without entry":     {[]string{"a"}, []string{"a", "b"}, 1, "entries of 2 ledgers"},
		"no journal":                 {[]string{"a", "b"}, nil, 1, "what its members' entries name"},
		"a member that is not named": {[]string{"a", "b"}, []string{"a"}, 1, "entries of 1 ledgers"},
		"another charge":             {[]string{"a", "b"}, []string{"a", "b"}, 2, "part of a set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "s.db")
			s := mustOpen(t, Config{Path: path})
			writer := ledger.Writer{Principal: "unverified:ann", Name: "request/x"}
			number := ledger.JournalOf(writer.Name)
			genesis := func(name string) *ledger.Genesis {
				return &ledger.Genesis{Principal: "p", Time: time.Unix(9, 0),
					Spec: ledger.Spec{Name: name, Adjacency: mechanism.AddOrRemoveOne}}
			}
			decided := func(name string, r ledger.Request) ledger.Proposal {
				g := genesis(name)
				b := ledger.NewBatch(ledger.NewState(ledger.Snapshot{Summary: ledger.Summary{Genesis: *g}}))
				r.Digest = record.Digest(r.Action)
				if d := b.Decide(r, ledger.Lane{}, time.Unix(10, 0)); d.Err != nil {
					t.Fatal(d.Err)
				}
				p := b.Proposal()
				p.Genesis = g
				return p
			}
			charge := func(n uint32) ledger.Charge {
				return ledger.Charge{Events: []mechanism.Event{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: n}}}
			}
			var said []ledger.Member
			for _, m := range c.said {
				said = append(said, ledger.Member{Ledger: m, Position: 1})
			}
			part := &ledger.SetPart{Contribution: ledger.OverAll, Journal: number, Position: 1,
				Members: uint32(max(1, len(said))),
				Names:   ledger.NamesHash(said)}
			var batch []ledger.Proposal
			for _, m := range c.members {
				batch = append(batch, decided(m, ledger.Request{Writer: ledger.SetWriter(writer.Principal),
					Sequence: 1, Action: charge(c.count), Set: part}))
			}
			if c.said != nil {
				batch = append(batch, decided(ledger.JournalName(number), ledger.Request{Writer: writer, Sequence: 1,
					Action: ledger.Together{Members: said, Action: charge(1), Contribution: ledger.OverAll}}))
			}
			if _, _, err := s.Create(*genesis("b")); len(c.members) == 1 && err != nil {
				t.Fatal(err)
			} else if len(c.members) == 2 {
				for i := range batch {
					if batch[i].Ledger == "b" { // it is there now
						_, hash, err := s.GenesisRecord("b")
						if err != nil {
							t.Fatal(err)
						}
						batch[i].Genesis, batch[i].Expected = nil, ledger.Head{Hash: hash}
					}
				}
			}
			if _, err := s.Append(batch); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			_, err := verify.File(context.Background(), verify.Config{Path: path})
			if c.found == "" && err != nil || c.found != "" && (err == nil || !strings.Contains(err.Error(), c.found)) {
				t.Errorf("%v; want %q", err, c.found)
			}
		})
	}
}
