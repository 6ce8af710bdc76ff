// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// PlanFlags are the flags of mechanisms for a command that takes a workload as the value of a
// flag, such as --plan: a file, or the first mechanism's name.
type PlanFlags struct {
	program    *cli.Program
	command    *cobra.Command
	mechanisms *mechanisms.Flags
	pattern    string
}

// AddPlanFlags adds the flags of mechanisms, and completes the named flags with the mechanisms'
// names. The pattern is a line of the command that works, with %s in the place of the
// mechanisms: errors show it.
func AddPlanFlags(p *cli.Program, c *cobra.Command, pattern string, flags ...string) *PlanFlags {
	for _, flag := range flags {
		_ = c.RegisterFlagCompletionFunc(flag,
			func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				return mechanisms.Kinds(), cobra.ShellCompDirectiveDefault // and files
			})
	}
	return &PlanFlags{program: p, command: c, mechanisms: mechanisms.AddFlags(c), pattern: pattern}
}

// Planned is a workload of a flag's value.
type Planned struct {
	*accountantv1.Workload
	File string // "" for mechanisms from flags, whose adjacency is the ledger's
}

// Read reads what a flag's value names: a file, unless it is the name of a mechanism of which
// flags are given. More are the command's arguments after those of its own: other mechanisms,
// each after a lone +.
func (f *PlanFlags) Read(value string, more []string) (*Planned, error) {
	if !mechanisms.Named(value) || !f.mechanisms.Belong(value) {
		if err := f.None(more); err != nil {
			return nil, err
		}
		w, err := Read(f.command.Context(), f.program, value)
		return &Planned{w, value}, err
	}
	names, err := Names(f.command, append([]string{value}, more...))
	if err != nil {
		return nil, err
	}
	events, err := f.mechanisms.Events(names)
	if err != nil {
		return nil, err
	}
	for i, e := range events { // under any adjacency: the daemon knows the ledger's
		if _, err := wire.ToMechanism(e.GetMechanism()); err != nil {
			return nil, f.Explain(names[i], err)
		}
	}
	return &Planned{Workload: &accountantv1.Workload{Events: events}}, nil
}

// None refuses mechanisms where no flag's value is one.
func (f *PlanFlags) None(more []string) error {
	if len(more) > 0 {
		return cli.Usage(f.command, "unexpected argument %q", more[0])
	}
	_, err := f.mechanisms.Events(nil)
	return err
}

// Explain says what is wrong with a mechanism in the words of its flags.
func (f *PlanFlags) Explain(name string, err error) error {
	example, _ := mechanisms.Example(name)
	return f.mechanisms.Explain(err, fmt.Sprintf(f.pattern, example))
}
