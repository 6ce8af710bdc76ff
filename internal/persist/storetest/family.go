// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"errors"
	"testing"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// testCreatesInAppend: a proposal may bring the genesis of a ledger. It is there with all
// the others of its Append, or not at all.
func testCreatesInAppend(t *testing.T, h Harness) {
	s := h.open(t)
	payer := create(t, s, "payer")
	absent := func(what, name string) {
		t.Helper()
		if _, err := s.Load(name); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%s: Load(%s) = %v; want ErrNotFound", what, name, err)
		}
		if list, err := s.List(name, "", 10); err != nil || len(list) != 0 {
			t.Errorf("%s: List(%s) = %d ledgers, %v; want none", what, name, len(list), err)
		}
		payer.check()
	}
	genesis := Genesis("new")
	for what, spoil := range map[string]func(paid, made *ledger.Proposal){
		"the payer's head is another":  func(paid, _ *ledger.Proposal) { paid.Expected.Hash[0] ^= 1 },
		"the payer's total is wrong":   func(paid, _ *ledger.Proposal) { paid.Total++ },
		"the payer is unknown":         func(paid, _ *ledger.Proposal) { paid.Ledger = "nobody" },
		"the new ledger's name is bad": func(_, made *ledger.Proposal) { made.Genesis.Spec.Name = "" },
		"the new ledger has a total":   func(_, made *ledger.Proposal) { made.Total = 1 },
	} {
		for _, newFirst := range []bool{false, true} {
			g := genesis
			paid := payer.decide(payer.charge(writer(0), 0, 1)).Proposal()
			payer.last[writer(0)]--
			made := ledger.Proposal{Ledger: "new", Genesis: &g}
			spoil(&paid, &made)
			batch := []ledger.Proposal{paid, made}
			if newFirst {
				batch[0], batch[1] = batch[1], batch[0]
			}
			if _, err := s.Append(batch); err == nil {
				t.Fatalf("%s: was taken", what)
			}
			absent(what, "new")
		}
	}
	batch := payer.decide(payer.charge(writer(0), 0, 1))
	hashes, err := s.Append([]ledger.Proposal{{Ledger: "new", Genesis: &genesis}, batch.Proposal()})
	if err != nil || len(hashes) != 2 || len(hashes[0]) != 0 {
		t.Fatalf("Append with a genesis = %v, %v", hashes, err)
	}
	payer.apply(batch, hashes[1])
	payer.check()
	sum, created, err := s.Create(genesis)
	if err != nil || created || sum.Head.Position != 0 {
		t.Errorf("Create of what an Append has made = %+v, %v, %v; want the one that is there", sum, created, err)
	}
	// The name is taken now: nothing of a second such Append is written.
	again := payer.decide(payer.charge(writer(0), 0, 1)).Proposal()
	payer.last[writer(0)]--
	if _, err := s.Append([]ledger.Proposal{again, {Ledger: "new", Genesis: &genesis}}); !errors.Is(err,
		ledger.ErrConflict) {
		t.Errorf("a genesis under a taken name = %v; want ErrConflict", err)
	}
	payer.check()
}
