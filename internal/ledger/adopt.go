// SPDX-License-Identifier: Apache-2.0

package ledger

import "fmt"

// Adopt takes ledgers that were there before their dataset was registered into the
// dataset's budget. It stands in each such ledger that is open, with the name of the
// dataset's record; and once in that record, after the entries that take their shares.
//
// What was charged before was held by each ledger's own budget, and their sum by nothing:
// who chose the dataset's budget may have known outputs. So statements of the dataset list
// it, and are descriptive, unless it is asserted that the budget, and which ledgers there
// were, did not depend on outputs. No call of the API makes one.
type Adopt struct {
	Dataset string `field:"1" is:"dataset" most:"255"` // in a ledger: the name of the dataset's record

	Ledgers     uint32 `field:"2"` // in a dataset's record: how many
	Charged     bool   `field:"3"` // whether something had been charged to them
	Independent bool   `field:"4"`
	Reason      string `field:"5" most:"1024"`
}

// Kind implements Action.
func (Adopt) Kind() string { return "adopt" }

// Details implements Action.
func (v Adopt) Details() Details { return Details{Reason: v.Reason} }

func (v Adopt) decide(b *Batch) error {
	spec := b.spec()
	switch {
	case b.request.Writer.Principal != Daemon || (spec.Dataset == nil) != (v.Dataset != "") ||
		(v.Dataset != "") == (v.Ledgers > 0) || v.Dataset != "" && !IsDataset(v.Dataset):
		return refuse(ErrDataset, "adopt: ledger %s: dataset %q, %d ledgers, by %s; allowed: by the daemon, of one "+
			"ledger or of a dataset", spec.Name, v.Dataset, v.Ledgers, b.request.Writer.Principal)
	case parentOf(*spec, b.amended) != "":
		return refuse(ErrDataset, "ledger %s has a parent, %s; allowed: a ledger without", spec.Name,
			parentOf(*spec, b.amended))
	case spec.Policy == Descriptive:
		return refuse(ErrDataset, "ledger %s has no budget; allowed: a ledger with the policy PLAN or "+
			"FILTER", spec.Name)
	}
	return nil
}

func (Adopt) reconciles() bool { return false }

func (v Adopt) amend(a amendments, e Entry) amendments {
	if v.Dataset != "" {
		a.adopted = v.Dataset
		return a
	}
	if !v.Charged {
		return a
	}
	how := "by a decision which may have depended on outputs"
	if v.Independent {
		how = "and neither it nor which ledgers there were depended on outputs"
	}
	whose := "One ledger was there, and charged, before the dataset was registered, which set its share aside. The " +
		"budget was chosen then, "
	if v.Ledgers > 1 {
		whose = fmt.Sprintf("%d ledgers were there, and something was charged to them, before the dataset was "+
			"registered, which set their shares aside; until then nothing held their sum. The budget was chosen "+
			"then, ", v.Ledgers)
	}
	text := whose + how
	if v.Reason != "" {
		text += " (reason given: " + v.Reason + ")"
	}
	return a.assuming(Assumption{e.Position, "adopted", text, !v.Independent})
}
