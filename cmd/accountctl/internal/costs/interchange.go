// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bytes"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/interchange"
	"github.com/dpaccountant/accountant/internal/wire"
)

// interchangeFlag adds --format.
func interchangeFlag(c *cobra.Command, formats []string) *string {
	format := c.Flags().String("format", "", strings.Join(formats, "|"))
	_ = c.RegisterFlagCompletionFunc("format",
		cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return format
}

const formatsHelp = `  dp-event  a DpEvent of Google's dp_accounting: the JSON of its
            to_named_tuple(), each named tuple an object (docs/interchange.md
            has the lines of Python)
  opacus    the state_dict() of an accountant of Opacus, or its history alone:
            [[noise multiplier, sample rate, steps], …]`

const checkpointHelp = `An import in the format opacus also reads a checkpoint of PrivacyEngine.save_checkpoint, or a
pickle of the state, without running any of its code.`

func importWorkload(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE --format FORMAT",
		Short: "Make a workload of what another accountant keeps",
		Long: `Read what another accountant keeps and write it as a workload, on standard output.
What no mechanism here expresses is refused, with its place in the file. Where conventions
differ a note says so on standard error. No daemon is asked.

` + formatsHelp + `
  flower    the state_dict() of Flower's RdpAccountant

` + checkpointHelp + `

A DpEvent does not say for which neighbours it is: --adjacency does. Opacus's
accountants are for add-or-remove-one, and Flower's state says it.`,
		Example: `  accountctl import event.json --format dp-event --adjacency add-or-remove-one > workload.json
  accountctl import accountant.json --format opacus | accountctl compute --file - --delta 1e-6
  accountctl import checkpoint.pt --format opacus > workload.json`,
		Args: cli.Arguments("FILE"),
	}
	format := interchangeFlag(c, interchange.Readable())
	name := c.Flags().String("name", "", "the workload's name, for people")
	adjacency := values.AdjacencyFlag(c, "of the workload")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *format == "" {
			return cli.Usage(c, "--format is missing; allowed: %s", strings.Join(interchange.Readable(), ", "))
		}
		data, err := p.ReadFile(c.Context(), args[0])
		if err != nil {
			return err
		}
		read := func() (*accountantv1.Workload, []string, error) { return interchange.Read(*format, data, *adjacency) }
		if *format == interchange.Opacus && interchange.IsCheckpoint(data) {
			read = func() (*accountantv1.Workload, []string, error) { return readCheckpoint(args[0], data, *adjacency) }
		}
		w, notes, err := read()
		if err != nil {
			return cli.BadFile(cli.FileName(args[0]), err)
		}
		w.Name = *name
		if err := workloads.Check(args[0], w); err != nil {
			return err
		}
		p.Warn(notes)
		return p.WriteJSON(w)
	}
	return c
}

// readCheckpoint reads a checkpoint, which may be too long to be read as a whole: data is its start.
func readCheckpoint(name string, data []byte,
	adjacency accountantv1.Workload_Adjacency) (*accountantv1.Workload, []string, error) {
	if name == "-" {
		return interchange.ReadCheckpoint(bytes.NewReader(data), int64(len(data)), adjacency)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	return interchange.ReadCheckpoint(file, info.Size(), adjacency)
}

func exportWorkload(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "export FILE --format FORMAT",
		Short: "Write a workload as another accountant keeps it",
		Long: `Write a workload file in the format of another accountant, on standard output. What
that cannot express is refused and named. Noise is rounded down where it has to be. No
daemon is asked.

` + formatsHelp + `

` + workloads.Help,
		Example: `  accountctl export workload.json --format dp-event > event.json
  accountctl export workload.json --format opacus > accountant.json`,
		Args: cli.Arguments("FILE"),
	}
	format := interchangeFlag(c, interchange.Formats())
	c.RunE = func(c *cobra.Command, args []string) error {
		if *format == "" {
			return cli.Usage(c, "--format is missing; allowed: %s", strings.Join(interchange.Formats(), ", "))
		}
		w, err := workloads.Read(c.Context(), p, args[0])
		if err != nil {
			return err
		}
		_, composition, err := wire.ToWorkload(w)
		if err != nil {
			return cli.BadFile(cli.FileName(args[0]), err)
		}
		data, notes, err := interchange.Write(*format, composition)
		if err != nil {
			return cli.BadFile(cli.FileName(args[0]), err)
		}
		p.Warn(notes)
		_, err = p.Out.Write(data)
		return err
	}
	return c
}
