// SPDX-License-Identifier: Apache-2.0

package ledger

import "strconv"

// checkPart refuses an entry that is a set's part in the lane of a user, or in a lane of sets and no
// part; and what cannot be a part.
func (b *Batch) checkPart(r Request) error {
	if r.Set == nil {
		if r.Writer.Name == SetLane {
			return refuse(ErrSet, "writer: %s; allowed: entries that are part of a set", r.Writer.Name)
		}
		return nil
	}
	_, joint := r.Action.(joint)
	if r.Writer != SetWriter(r.Writer.Principal) || !joint || r.Set.Journal >= Journals {
		return refuse(ErrSet, "%s of writer %s in journal %d; allowed: a charge, a reservation, a commit or a release "+
			"in the lane of sets", r.Action.Kind(), r.Writer.Name, r.Set.Journal)
	}
	if !r.Set.Contribution.Valid() {
		return refuse(ErrSet, "contribution: %d; allowed: one that is known", r.Set.Contribution)
	}
	if b.spec().OverAllOnly && r.Set.Contribution != OverAll {
		return refuse(ErrSet, "ledger: %s was created to take charges to several ledgers only where the sensitivity "+
			"bounds a person's rows in all of them together; allowed: the contribution OVER_ALL", b.spec().Name)
	}
	if name := b.spec().Name; IsSystem(name) || IsDataset(name) {
		return refuse(ErrSet, "ledger: %s; allowed: a ledger that is neither a dataset's record nor the daemon's own",
			name)
	}
	return nil
}

// Alike refuses two ledgers that cannot be taken together: a charge, or a number, about both has one adjacency
// and one privacy unit.
func Alike(a, b *Spec) error {
	const differ = "%s: %s in ledger %s, but %s in ledger %s; allowed: ledgers with the same %s"
	if a.Adjacency != b.Adjacency {
		return refuse(ErrSet, differ, "adjacency", a.Adjacency, a.Name, b.Adjacency, b.Name, "adjacency")
	}
	if a.PrivacyUnit != b.PrivacyUnit {
		return refuse(ErrSet, differ, "privacy_unit", strconv.Quote(a.PrivacyUnit), a.Name,
			strconv.Quote(b.PrivacyUnit), b.Name, "unit of privacy")
	}
	return nil
}
