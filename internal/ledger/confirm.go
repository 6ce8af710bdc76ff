// SPDX-License-Identifier: Apache-2.0

package ledger

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
	case b.request.Approval == nil && !b.request.CheckOnly:
		return refuse(ErrApproval, "confirm: by one person; allowed: to propose it (--propose), so that another "+
			"person approves it")
	}
	return nil
}
