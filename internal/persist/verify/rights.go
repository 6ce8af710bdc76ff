// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"errors"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/packs"
	"github.com/dpaccountant/accountant/internal/record"
)

// policies reads the access policies that were in force, and where they stand in the log. The ledger
// that has them is verified with all others.
func (v *verifier) policies() error {
	number, err := v.Number(ledger.AccessLedger)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return v.EachPack(number, v.tail[number], func(p packs.Pack, _ uint64) error {
		for i, raw := range p.Raws {
			e, _, err := record.UnmarshalEntry(raw)
			if err != nil {
				continue // found again, and named, when the ledger is followed
			}
			if err := v.rights.Add(p.Keys[i], e); err != nil {
				return err
			}
		}
		return nil
	})
}

// spec returns a ledger's spec.
func (v *worker) spec(name string) (ledger.Spec, error) {
	if spec, ok := v.specs[name]; ok {
		return spec, nil
	}
	number, err := v.Number(name)
	if errors.Is(err, ledger.ErrNotFound) {
		return ledger.Spec{}, finding(name, 0, "genesis", "that of a ledger which has others below it", "none")
	}
	if err != nil {
		return ledger.Spec{}, err
	}
	g, _, _, err := v.Genesis(number)
	if err != nil {
		return ledger.Spec{}, err
	}
	v.specs[name] = g.Spec
	return g.Spec, nil
}
