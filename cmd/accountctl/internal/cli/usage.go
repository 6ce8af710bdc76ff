// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// columns is how wide the help is at most.
const columns = 80

// Unlisted marks a flag, by an annotation, that the help of a command leaves out, as another
// command lists it: the annotation's value says which.
const Unlisted = "unlisted"

// HelpText is the help of a command, in lines of at most 80 columns. Of the commands below it those are listed that are
// used often, if some are; with all every one.
func HelpText(c *cobra.Command, all bool) string {
	return Wrap(cmp.Or(c.Long, c.Short)) + "\n\n" + usageText(c, all)
}

// usageText is what the help of a command shows below its description: how it is called, its
// examples, the commands below it, and its flags.
func usageText(c *cobra.Command, all bool) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			fmt.Fprintf(&b, "%s\n%s\n\n", title, text)
		}
	}
	switch {
	case c.HasAvailableSubCommands():
		section("Usage:", "  "+c.CommandPath()+" COMMAND")
	case c.Runnable():
		section("Usage:", WrapUse(c.UseLine()))
	}
	section("Examples:", WrapCommands(c.Example))
	rows := func(listed func(*cobra.Command) bool) (text string) {
		for _, child := range c.Commands() {
			if child.IsAvailableCommand() && listed(child) {
				text += fmt.Sprintf("  %-*s %s\n", child.NamePadding(), child.Name(), child.Short)
			}
		}
		return text
	}
	few := rows(func(child *cobra.Command) bool { _, is := child.Annotations[often]; return is })
	switch {
	case few != "" && !all:
		section("Commands that are used often:", few)
		section("All others:", "  "+c.CommandPath()+" help --all")
	case len(c.Groups()) == 0:
		section("Commands:", rows(func(*cobra.Command) bool { return true }))
	default:
		for _, g := range c.Groups() {
			section(g.Title, rows(func(child *cobra.Command) bool { return child.GroupID == g.ID }))
		}
	}
	section("Flags:", FlagText(c.LocalFlags()))
	section("Flags of every command:", FlagText(c.InheritedFlags()))
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\"%s COMMAND --help\" says more about a command.\n", c.CommandPath())
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// FlagText lists flags with what they mean; of those that another command lists only where.
func FlagText(flags *pflag.FlagSet) string {
	listed, elsewhere := pflag.NewFlagSet("", pflag.ContinueOnError), ""
	flags.VisitAll(func(f *pflag.Flag) {
		if where := f.Annotations[Unlisted]; len(where) > 0 {
			elsewhere = "      " + where[0] + "\n"
		} else {
			listed.AddFlag(f)
		}
	})
	// pflag shows an empty list of numbers as a default.
	return strings.ReplaceAll(listed.FlagUsagesWrapped(columns), " (default [])", "") + elsewhere
}
