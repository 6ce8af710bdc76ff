// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Needs requires flags that have no default.
func Needs(c *cobra.Command, flags ...string) error {
	for _, f := range flags {
		if c.Flags().Changed(f) {
			continue
		}
		allowed := ""
		if of, ok := c.Flags().Lookup(f).Value.(interface{ Allowed() []string }); ok && len(of.Allowed()) > 0 {
			allowed = "; allowed: " + strings.Join(of.Allowed(), ", ")
		}
		return UsageOf(c, "--"+f+" ", "--%s is missing%s", f, allowed)
	}
	return nil
}

// A Command is a command that is made with its flags only if it is needed, as that takes as long as running it.
type Command struct {
	Name  string // the first word of its Use
	Make  func(*Program) *cobra.Command
	title string // in the help of the one above it
	often bool
}

// often marks, by an annotation, a command that is among the few on the first screen of the help.
const often = "often"

// Often puts those of the commands that have one of the names on the first screen of the help of the one above them.
func Often(commands []Command, names ...string) []Command {
	for i := range commands {
		commands[i].often = slices.Contains(names, commands[i].Name)
	}
	return commands
}

// Under puts commands under a title in the help of the one above them.
func Under(title string, commands []Command) []Command {
	for i := range commands {
		commands[i].title = title
	}
	return commands
}

// Group makes c a command that only holds others. If the line goes on with the name of one of them, only that one is
// made; otherwise all of them are, for the help, a completion or advice.
func Group(p *Program, c *cobra.Command, children ...Command) *cobra.Command {
	made := children
	if i := slices.IndexFunc(children, p.next); i >= 0 {
		made, p.Words = children[i:i+1], p.Words[1:]
	} else {
		p.Words = nil
	}
	for _, child := range children {
		if id := child.title; id != "" && !c.ContainsGroup(id) {
			c.AddGroup(&cobra.Group{ID: id, Title: id})
		}
	}
	for _, child := range made {
		command := child.Make(p)
		command.GroupID = child.title
		if child.often {
			if command.Annotations == nil {
				command.Annotations = map[string]string{}
			}
			command.Annotations[often] = ""
		}
		c.AddCommand(command)
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		names := make([]string, len(children))
		for i, child := range children {
			names[i] = child.Name
		}
		_, path, _ := strings.Cut(c.CommandPath()+" "+args[0], " ")
		if meant := otherCommands[path]; meant != "" {
			return Usage(c, "unknown command %q; write %s", args[0], meant)
		}
		for _, child := range c.Commands() { // such as history, which is ledger history
			for _, below := range child.Commands() {
				if below.Name() == args[0] {
					return Usage(c, "unknown command %q; did you mean %s?", args[0], below.CommandPath())
				}
			}
		}
		return Usage(c, "unknown command %q; %sallowed: %s", args[0], Meant(args[0], names), strings.Join(names, ", "))
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	return c
}

// next reports whether the line goes on with the command's name.
func (p *Program) next(c Command) bool { return len(p.Words) > 0 && p.Words[0] == c.Name }

// Arguments requires exactly the arguments that are named.
func Arguments(wanted ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(wanted):
			return Usage(c, "%s is missing", strings.Join(wanted[len(args):], " "))
		case len(args) > len(wanted):
			return Usage(c, "unexpected argument %q", args[len(wanted)])
		}
		return nil
	}
}
