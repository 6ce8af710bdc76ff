// SPDX-License-Identifier: Apache-2.0

// Package checks holds the commands that check ledgers, the daemon and its files, and
// copy them: verify decides every entry again (verify.go, verify_log.go), head gets the
// daemon's signature under a ledger, backup copies the store, and doctor looks at the
// daemon, the way to it (doctor.go), what it knows of its store (status.go) and its data
// directory (doctor_files.go); access says who may do what; login gives the way to a
// daemon a name.
package checks

import "github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"

// Commands are this package's commands, in the order of the help.
func Commands() []cli.Command {
	return []cli.Command{
		{Name: "verify", Make: verify},
		{Name: "head", Make: head},
		{Name: "backup", Make: backup},
		{Name: "doctor", Make: doctor},
		{Name: "access", Make: accessGroup},
		{Name: "login", Make: login},
		{Name: "logout", Make: logout},
		{Name: "contexts", Make: contexts},
	}
}
