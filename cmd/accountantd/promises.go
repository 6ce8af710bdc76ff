// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/server/upkeep"
)

// inFile says what a file on this machine promises.
func inFile(w *merging) upkeep.Place {
	return upkeep.Place{Kind: "file", Promises: func() ([]string, error) {
		return []string{"A charge is acknowledged once it is synced to the disk, so it survives a crash of the " +
			"daemon and of its machine.", "It does not survive the loss of the disk, unless a backup has it."}, nil
	}, Warnings: func() ([]string, error) { return w.warnings(), nil }}
}

// inDatabase says what a database promises and has lost, by what its primary answers now.
func inDatabase(d inspected, w *merging) upkeep.Place {
	return upkeep.Place{Kind: "database", Promises: func() ([]string, error) {
		p, err := d.Promises()
		if err != nil {
			return nil, err
		}
		return promises(p), nil
	}, Warnings: func() ([]string, error) {
		lost, err := d.Lost()
		warnings := w.warnings()
		if len(lost) > 0 {
			warnings = append(warnings, "The database has lost acknowledged entries of "+inspect.Lossy(lost)+". Each "+
				"of these ledgers takes nothing until somebody reconciles it (docs/fleet.md).")
		}
		return warnings, err
	}}
}

func promises(p inspect.Promises) []string {
	crash := "A charge is acknowledged once the database has synced it, so it survives a crash of the database's " +
		"machine."
	if !p.Fsync || !p.FullPageWrites {
		crash = "The database may lose or damage what was acknowledged when its machine crashes: fsync or " +
			"full_page_writes is off."
	}
	if p.SynchronousStandbys == "" {
		return []string{crash, "The database does not wait for a standby (synchronous_standby_names is empty): what " +
			"was acknowledged can be lost with its machine, unless its storage is replicated."}
	}
	standby := fmt.Sprintf("The database waits for a standby before it acknowledges (synchronous_standby_names is "+
		"%s), so an acknowledged charge survives the loss of the primary.", p.SynchronousStandbys)
	if p.SeesStandbys {
		standby += fmt.Sprintf(" Standbys that it waits for now: %d.", p.Synchronous)
	}
	return []string{crash, standby}
}

// both says first what one says, and then what the other does.
func both(one func() ([]string, error), other func() []string) func() ([]string, error) {
	return func() ([]string, error) {
		list, err := one()
		return append(list, other()...), err
	}
}
