// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// usage is what a command's line of use declares, such as "refund NAME --position POSITION [--propose]": its arguments,
// and its flags with what their values are called. What stands in brackets may be left out.
type usage struct {
	arguments []string // that are needed
	optional  []string // arguments
	flags     []flag
}

type flag struct {
	name, value string
	needed      bool
}

func usageOf(c *cobra.Command) (u usage) {
	depth, open := 0, false // open: the word before is a flag without a value so far
	for _, word := range strings.Fields(c.Use)[1:] {
		depth += strings.Count(word, "[") + strings.Count(word, "(")
		text := strings.Trim(word, "[]()…")
		name, isFlag := strings.CutPrefix(text, "--")
		switch {
		case isFlag:
			u.flags = append(u.flags, flag{name: name, needed: depth == 0})
		case text == "" || text == "|":
		case open:
			u.flags[len(u.flags)-1].value = text
		case depth == 0:
			u.arguments = append(u.arguments, text)
		default:
			u.optional = append(u.optional, text)
		}
		open = isFlag && word == strings.TrimRight(word, "])")
		depth -= strings.Count(word, "]") + strings.Count(word, ")")
	}
	return u
}

// needs returns the flags that cannot be left out.
func (u usage) needs() (names []string) {
	for _, f := range u.flags {
		if f.needed {
			names = append(names, f.name)
		}
	}
	return names
}

// AddFlags adds to a command the flags that its line of use names, each for the field of that name in m. A flag of a
// list may be called as one of its elements is. Flags that the command has already stay as they are, and so do those
// that m has no field for.
func AddFlags(c *cobra.Command, m proto.Message) {
	for _, f := range usageOf(c).flags {
		if field := fieldNamed(m, f.name); field != nil && c.Flags().Lookup(f.name) == nil {
			values.AddFlag(c, m.ProtoReflect(), field, f.name, f.value)
		}
	}
}

// AddFlag adds a flag for a field of m that is not called as the field is.
func AddFlag(c *cobra.Command, m proto.Message, field, name, value string) {
	values.AddFlag(c, m.ProtoReflect(), fieldNamed(m, field), name, value)
}

// fieldNamed is the field that a flag or an argument sets, or nil.
func fieldNamed(m proto.Message, name string) protoreflect.FieldDescriptor {
	fields := m.ProtoReflect().Descriptor().Fields()
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	if f := fields.ByName(protoreflect.Name(name)); f != nil {
		return f
	}
	return fields.ByName(protoreflect.Name(name + "s"))
}

// complete gives a command what follows from its line of use: the number of its arguments, the completion of a ledger's
// name, and a test that it has each flag that the line names.
func (u usage) complete(p *cli.Program, c *cobra.Command) {
	if c.Args == nil {
		c.Args = func(c *cobra.Command, args []string) error {
			return cli.Arguments(append(u.arguments, u.optional[:min(len(u.optional),
				max(0, len(args)-len(u.arguments)))]...)...)(c, args)
		}
	}
	if names := append(u.arguments, u.optional...); c.ValidArgsFunction == nil && len(names) > 0 && names[0] == "NAME" {
		c.ValidArgsFunction = p.CompleteLedger
	}
	for _, f := range u.flags {
		if c.Flags().Lookup(f.name) == nil {
			panic(fmt.Sprintf("%s: its use names --%s, which is neither a field of the request nor added by hand",
				c.Name(), f.name)) // by whoever declares the command; the test of the reference makes all of them
		}
	}
}

// fill gives m the fields that arguments name. NAME is the ledger's, and a field of that name need not be there. ID is
// the dataset whose record a field NAME is.
func (u usage) fill(m proto.Message, args []string) error {
	for i, name := range append(u.arguments, u.optional...) {
		f := fieldNamed(m, name)
		if f == nil && name == "NAME" {
			f = fieldNamed(m, "ledger")
		}
		if f == nil && name == "ID" {
			f = fieldNamed(m, "name")
		}
		if f == nil || i >= len(args) {
			continue
		}
		text := args[i]
		if f.Name() == "name" {
			text = u.ledger(text)
		}
		if err := values.SetField(m.ProtoReflect(), f, text); err != nil {
			return err
		}
	}
	return nil
}

// ledger is the ledger to which a command with this first argument writes: NAME, or the record of the dataset ID.
func (u usage) ledger(argument string) string {
	if u.arguments[0] == "ID" {
		return ledger.DatasetName(argument)
	}
	return argument
}
