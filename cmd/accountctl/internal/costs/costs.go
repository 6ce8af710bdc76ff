// SPDX-License-Identifier: Apache-2.0

// Package costs holds the commands that say what mechanisms cost, most of them without
// a daemon:
//
//   - compute, explain and convert answer for a workload or a guarantee on this machine.
//     compute asks every analysis, or with --analysis one of them or a classical theorem
//     (analysis.go); explain puts all of them side by side.
//   - curve and plot answer for a workload or for a ledger. curve asks (curve.go), plot
//     draws what curve has asked (plot.go) or a ledger's spending over time, which it
//     follows entry by entry (plot_budget.go).
//   - canaries compares what a run showed with what is proven of it (canaries.go).
//   - calibrate finds the noise, the count or the sampling probability for a target.
//   - answer answers the questions of a program (answer.go).
//   - import and export read and write what other accountants keep (interchange.go).
package costs

import "github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"

// Commands are this package's commands, in the order of the help.
func Commands() []cli.Command {
	return []cli.Command{
		{Name: "compute", Make: compute},
		{Name: "curve", Make: curve},
		{Name: "plot", Make: plot},
		{Name: "canaries", Make: canaries},
		{Name: "calibrate", Make: calibrate},
		{Name: "convert", Make: convert},
		{Name: "import", Make: importWorkload},
		{Name: "export", Make: exportWorkload},
		{Name: "mechanisms", Make: listMechanisms},
		{Name: "answer", Make: answer},
	}
}
