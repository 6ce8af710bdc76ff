package ledger

import "time"

// Confirmation says who has confirmed a dataset's registration. It is zero until somebody has.
type Confirmation struct {
	Position uint64 // of the entry
	By       string // the principal who approved it
	Time     time.Time
	Approval
}

// Waits reports whether the registration waits for another person to confirm it.
func (d *DatasetStanding) Waits() bool { return d.ToConfirm && d.Confirmation == (Confirmation{}) }

// confirms refuses a confirmation where there is nothing to confirm, and one by a single person.
func (v AmendDataset) confirms(b *Batch, d *DatasetStanding) error {
	switch {
	case !v.Confirm:
		return nil
	case !d.Waits():
		return refuse(ErrDataset, "confirm: the registration of dataset %q waits for nobody; allowed: of a dataset "+
			"that was registered with --propose and that nobody has confirmed yet", b.spec().DatasetID)
	case v.changes():
		return refuse(ErrDataset, "confirm: together with another change; allowed: alone")
	case v.Approval == (Approval{}) && !b.request.CheckOnly:
		return refuse(ErrApproval, "confirm: by one person; allowed: to propose it (--propose), so that another "+
			"person approves it")
	}
	return nil
}

// confirmed refuses to take more of the budget of a dataset whose registration waits for another
// person. Ledgers are adopted before the proposal is made, in the same write.
func (b *Batch) confirmed() error {
	if d := b.amended.dataset; d == nil || !d.Waits() || b.amended.proposed.All == 0 {
		return nil
	}
	return refuse(ErrDataset, "dataset %q waits for a second person to confirm its registration, and nothing can be "+
		"taken from its budget until then; allowed: after another officer has approved it (accountctl approvals list)",
		b.spec().DatasetID)
}
