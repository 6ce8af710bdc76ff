// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"
	"slices"
	"strings"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// NotCounted says what restores of a ledger have lost and no number counts, by what its answers rest on. The warnings
// of every answer about the ledger begin with it, and so does its statement.
func NotCounted(list []ledger.Assumption) (notes []string) {
	open, accepted := lost(list)
	for _, position := range accepted {
		notes = append(notes, fmt.Sprintf("Not counted: charges that a restore from a backup lost, a loss that "+
			"was accepted (entry %d). The true cost may be larger than any number here.", position))
	}
	if open > 0 {
		notes = append(notes, fmt.Sprintf("Not counted: what was charged after the backup that entry %d restored. "+
			"Nobody has said yet what that was, so the true cost may be larger than any number here.", open))
	}
	return notes
}

// lost returns the entry of the newest restore that nobody has reconciled, 0 if there is none, and those that
// accepted a loss.
func lost(list []ledger.Assumption) (open uint64, accepted []uint64) {
	for _, a := range list {
		switch a.Kind {
		case "restored":
			open = a.Position
		case "reconciled":
			open = 0
		case "loss":
			open = 0
			accepted = append(accepted, a.Position)
		}
	}
	return open, accepted
}

// Uncounted names the ledgers, of several that an answer is about, of which a restore has lost something that no
// number counts.
type Uncounted struct{ open, accepted []string }

// Add adds a ledger by what its answers rest on.
func (u *Uncounted) Add(name string, list []ledger.Assumption) {
	open, accepted := lost(list)
	u.add(name, open > 0, len(accepted) > 0)
}

// AddRow adds a row of the overview, which its flags tell, under the name that its reader sees.
func (u *Uncounted) AddRow(r *pb.OverviewRow) {
	name := r.GetName()
	if ledger.IsDataset(name) {
		name = r.GetDatasetId()
	}
	u.add(name, slices.Contains(r.GetFlags(), "unreconciled"), slices.Contains(r.GetFlags(), "loss accepted"))
}

func (u *Uncounted) add(name string, open, accepted bool) {
	if accepted {
		u.accepted = append(u.accepted, name)
	}
	if open {
		u.open = append(u.open, name)
	}
}

// Notes says it, as NotCounted does of one ledger.
func (u *Uncounted) Notes() (notes []string) {
	if len(u.accepted) > 0 {
		notes = append(notes, "Not counted: charges to "+someOf(u.accepted)+" that a restore from a backup lost, a "+
			"loss that was accepted. The true cost may be larger than any number here.")
	}
	if len(u.open) > 0 {
		notes = append(notes, "Not counted: what was charged to "+someOf(u.open)+" after the backup that was "+
			"restored. Nobody has said yet what that was, so the true cost may be larger than any number here.")
	}
	return notes
}

// someOf lists the first few names, and how many follow.
func someOf(names []string) string {
	const most = 5
	if len(names) > most {
		return fmt.Sprintf("%s and %d more of these", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
