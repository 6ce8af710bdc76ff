// SPDX-License-Identifier: Apache-2.0

package ledger

// Agree returns nil if all ledgers have the same adjacency and the same unit of privacy, and otherwise an
// ErrSet that names two that have not: a number about all of them would be about no neighbouring datasets.
func Agree(specs []Spec) error {
	for i := range specs {
		if err := Alike(&specs[0], &specs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Apart returns the ledgers that do not take their budgets from others among them: what a ledger may
// spend is a part of its parent's composition, and would be counted twice. (It still is where a ledger
// between the two is missing, which errs on the safe side.)
func Apart(views []View) (list []View) {
	names := make(map[string]bool, len(views))
	for _, v := range views {
		names[v.Genesis.Spec.Name] = true
	}
	for _, v := range views {
		if !names[v.Parent] {
			list = append(list, v)
		}
	}
	return list
}

// WeakestGuarantee is what a number about all ledgers means: the weakest that each one's own answer has.
func WeakestGuarantee(views []View) string {
	has := map[string]bool{}
	for _, v := range views {
		has[v.Guarantee] = true
	}
	switch {
	case has[GuaranteeDescriptive]:
		return GuaranteeDescriptive
	case has[GuaranteeFilter]:
		return GuaranteeFilter
	}
	return GuaranteePlan
}
