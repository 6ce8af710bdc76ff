// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/mechanisms"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// defaultAdjacency is that of mechanisms from flags: the one of DP-SGD's literature.
const defaultAdjacency = accountantv1.Workload_ADD_OR_REMOVE_ONE

// Source is where a command takes a workload from: a file, or mechanisms on its line.
type Source struct {
	program    *cli.Program
	command    *cobra.Command
	file       *string
	adjacency  *accountantv1.Workload_Adjacency
	mechanisms *mechanisms.Flags
	wanted     string // "a mechanism or --file"
	pattern    string // of a line that works, with %s for the mechanisms
}

// AddSource adds --file, --adjacency and the flags of mechanisms. Wanted says what the command
// needs in words. The pattern is a line of the command that works, with %s in the place of the
// mechanisms: errors show it.
func AddSource(p *cli.Program, c *cobra.Command, wanted, pattern string) *Source {
	s := &Source{program: p, command: c, file: fileFlag(c), wanted: wanted, pattern: pattern,
		mechanisms: mechanisms.AddFlags(c)}
	s.adjacency = values.AdjacencyFlag(c,
		"of mechanisms from flags, "+spelling.Adjacency(defaultAdjacency)+" by default")
	return s
}

// Ledger is the name of the ledger that the arguments name, where one may stand in the place
// of a workload: a single word, unless it names a mechanism and flags of that are given. It is
// "" where the arguments name none.
func (s *Source) Ledger(args []string) (name string, err error) {
	if *s.file != "" || len(args) != 1 || s.describes(args[0]) {
		return "", nil
	}
	if *s.adjacency != 0 {
		return "", cli.Usage(s.command, "--adjacency: the ledger %q has one of its own; allowed: with mechanisms "+
			"from flags", args[0])
	}
	if flag, given := s.mechanisms.Given(); given {
		return "", cli.Usage(s.command, "%s is for a mechanism, and %q is none; such as: %s", flag, args[0],
			(&Described{source: s}).Example())
	}
	_, err = s.mechanisms.Events(nil)
	return args[0], err
}

// describes reports whether a word names a mechanism, of which flags are given, too.
func (s *Source) describes(word string) bool {
	return mechanisms.Named(word) && s.mechanisms.Belong(word)
}

// Read reads the file, or makes a workload of the mechanisms that the arguments name. It gives
// the command those of its own flags that mechanisms have, too, so it comes before the command
// looks at its flags. It does not check the workload.
func (s *Source) Read(args []string) (*Described, error) {
	names, err := Names(s.command, args)
	if err != nil {
		return nil, err
	}
	if *s.file != "" {
		return s.open(*s.file, names)
	}
	events, err := s.mechanisms.Events(names)
	if err != nil {
		return nil, err
	}
	d := &Described{source: s, names: names, Title: strings.Join(names, " + ")}
	if len(events) == 0 {
		return nil, cli.Usage(s.command, "%s is missing; such as: %s", s.wanted, d.Example())
	}
	d.Workload = &accountantv1.Workload{Events: events, Adjacency: cmp.Or(*s.adjacency, defaultAdjacency)}
	if *s.adjacency != 0 {
		return d, nil
	}
	d.Assumed = "neighbouring datasets differ by one record more or less: --adjacency was not given, so it is " +
		spelling.Adjacency(defaultAdjacency)
	return d, nil
}

// open reads a file, beside which no mechanism is allowed.
func (s *Source) open(file string, names []string) (*Described, error) {
	flag, given := s.mechanisms.Given()
	switch {
	case len(names) > 0:
		return nil, cli.Usage(s.command, "--file and %q are both given; allowed: one of them", names[0])
	case given:
		return nil, cli.Usage(s.command, "the file %s and %s are both given; allowed: one of them",
			cli.FileName(file), flag)
	case *s.adjacency != 0:
		return nil, cli.Usage(s.command, "--adjacency: the file %s has one of its own; allowed: with mechanisms from "+
			"flags", cli.FileName(file))
	}
	if _, err := s.mechanisms.Events(nil); err != nil {
		return nil, err
	}
	w, err := Read(s.command.Context(), s.program, file)
	return &Described{Workload: w, Title: filepath.Base(cli.FileName(file)), source: s, file: file}, err
}

// Names are the mechanisms that a command's arguments name, with a lone + between them.
func Names(c *cobra.Command, args []string) ([]string, error) {
	var names []string
	for i, word := range args {
		switch plus := word == mechanisms.Separator; {
		case plus && (i%2 == 0 || i == len(args)-1):
			return nil, cli.UsageOf(c, " + ", "a mechanism is missing beside %q", word)
		case !plus && i%2 == 1:
			return nil, cli.UsageOf(c, " + ",
				"unexpected argument %q; allowed: mechanisms with a lone + between them", word)
		case !plus:
			names = append(names, word)
		}
	}
	return names, nil
}

// Described is a workload that a command was given, and where it came from.
type Described struct {
	*accountantv1.Workload
	Title   string // the file's name without its folder, or the mechanisms' names
	Assumed string // what was not given, and is assumed; "" if nothing is

	source *Source
	file   string // "" for mechanisms from flags
	names  []string
}

// Assumptions are what an answer assumes that was not given on the line.
func (d *Described) Assumptions() []*accountantv1.Assumption {
	if d.Assumed == "" {
		return nil
	}
	return []*accountantv1.Assumption{{Text: d.Assumed}}
}

// Check validates the workload as the daemon would.
func (d *Described) Check() error { return d.Explain(checked(d.Workload)) }

// Explain says what is wrong with the workload in the words of where it came from.
func (d *Described) Explain(err error) error {
	if d.file != "" {
		return inFile(d.file, err)
	}
	return d.source.mechanisms.Explain(err, d.Example())
}

// Example is a line of the command that works: with these mechanisms, or with this file.
func (d *Described) Example() string {
	if d.file != "" {
		return fmt.Sprintf(d.source.pattern, "--file "+d.file)
	}
	name := ""
	if len(d.names) == 1 {
		name = d.names[0]
	}
	example, adjacency := mechanisms.Example(name)
	if adjacency != defaultAdjacency {
		example += " --adjacency " + spelling.Adjacency(adjacency)
	}
	return fmt.Sprintf(d.source.pattern, example)
}

// CompleteMechanism completes the name of a mechanism.
func CompleteMechanism(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return mechanisms.Kinds(), cobra.ShellCompDirectiveNoFileComp
}
