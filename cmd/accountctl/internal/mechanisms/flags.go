// SPDX-License-Identifier: Apache-2.0

// Package mechanisms makes flags of the API's mechanisms: it is the one place that knows
// which parameters they have. kinds.go reads the kinds and their parameters from the
// API's messages, and their names from what people type; help.go describes them; flags.go
// makes events of the flags that were given; line.go writes an event as flags, and shows
// for each kind a line that works.
package mechanisms

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// Separator stands alone on a line between two mechanisms.
const Separator = "+"

// count is how often a mechanism is applied: a flag beside the parameters of every kind.
const count = "count"

// Flags holds a flag for each parameter of each kind of mechanism, and what was given for
// them on a line: its parts that a Separator divides each describe one mechanism.
type Flags struct {
	command *cobra.Command
	given   []given
	own     map[string]pflag.Value // flags of the command itself, by the parameter's name
}

// given is one flag as it stands on the line.
type given struct {
	name   string // of the parameter
	text   string
	before int // how many arguments that are no flags stand before it
}

// AddFlags adds the flags to c. A flag of the same name that c has already is shared: after a mechanism with such a
// parameter it is the mechanism's, elsewhere it stays the command's.
func AddFlags(c *cobra.Command) *Flags {
	f := &Flags{command: c, own: map[string]pflag.Value{}}
	add := func(name, kind, text string, usage func(name string) string) {
		flag := c.Flags().Lookup(spelling.Dashed(name))
		if flag == nil {
			flag = c.Flags().VarPF(&value{flags: f, name: name, kind: kind, text: text},
				spelling.Dashed(name), "", usage(name))
			flag.Annotations = map[string][]string{
				cli.Unlisted: {`and those of mechanisms, which "accountctl mechanisms" lists`}}
		} else if _, seen := flag.Value.(*value); !seen { // otherwise it is of another kind too
			f.own[name] = flag.Value
			flag.Value = &value{flags: f, name: name, kind: flag.Value.Type(), text: flag.DefValue}
			flag.DefValue = strings.TrimSuffix(flag.DefValue, "[]")
		}
		if kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
	for _, kind := range allKinds() {
		if described(kind) || kind.Name() == samplingKind {
			for _, p := range parameters(kind) {
				add(string(p.Name()), typeOf(p), "", parameterHelp)
			}
		}
	}
	add(count, "uint32", "1", func(string) string { return "how often the mechanism is applied" })
	return f
}

// typeOf names a parameter's type for the help.
func typeOf(p protoreflect.FieldDescriptor) string {
	switch {
	case p.IsList():
		return "float64Slice"
	case p.Kind() == protoreflect.DoubleKind:
		return "float64"
	case p.Kind() == protoreflect.BoolKind:
		return "bool"
	case p.Kind() == protoreflect.EnumKind:
		return "string"
	}
	return "uint64"
}

// value is a pflag.Value that notes each time that its flag is given.
type value struct {
	flags            *Flags
	name, kind, text string
}

func (v *value) String() string { return v.text }
func (v *value) Type() string   { return v.kind }

// Set notes what was given. Whose it is, and so what is allowed, is known only when the
// whole line is.
func (v *value) Set(text string) error {
	f := v.flags
	f.given = append(f.given, given{v.name, text, f.command.Flags().NArg()})
	return nil
}

// Given reports whether a flag was given that can only belong to a mechanism, and names one.
func (f *Flags) Given() (flag string, ok bool) {
	for _, g := range f.given {
		if f.own[g.name] == nil {
			return "--" + spelling.Dashed(g.name), true
		}
	}
	return "", false
}

// Belong reports whether any flag that was given is one of the named mechanism's.
func (f *Flags) Belong(name string) bool {
	kind, ok := kindNamed(name)
	return ok && slices.ContainsFunc(f.given, func(g given) bool { return f.owns(kind, g) })
}

// owns reports whether a flag belongs to a mechanism of the kind, which stands where it does.
func (f *Flags) owns(kind protoreflect.FieldDescriptor, g given) bool {
	if f.own[g.name] == nil {
		return true
	}
	return g.before > 0 && kind != nil && kind.Message().Fields().ByName(protoreflect.Name(g.name)) != nil
}

// Events makes an event of each mechanism that is named, with its flags, and gives the
// command its own flags of what is left. Ranges are not checked here; that a flag belongs to
// the mechanism is. Without names all flags are the command's own, and others are refused.
func (f *Flags) Events(names []string) ([]*accountantv1.Event, error) {
	kinds := make([]protoreflect.FieldDescriptor, max(1, len(names)))
	for i, name := range names {
		kind, err := f.kind(name)
		if err != nil {
			return nil, err
		}
		kinds[i] = kind
	}
	parts := make([][]given, len(kinds))
	left := map[string][]string{}
	words := f.command.Flags().Args()
	for _, g := range f.given {
		part := 0
		for _, word := range words[:min(g.before, len(words))] {
			if word == Separator {
				part++
			}
		}
		part = min(part, len(parts)-1)
		if f.owns(kinds[part], g) {
			parts[part] = append(parts[part], g)
		} else {
			left[g.name] = append(left[g.name], g.text)
		}
	}
	if err := f.give(left); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		if name := "epsilon"; len(parts[0]) > 0 && f.command.Flags().Lookup("budget") != nil && f.has(name) {
			return nil, cli.UsageOf(f.command, "--budget ", "--%s describes a mechanism, and none is named; for a "+
				"budget write --budget epsilon=…,delta=…", name)
		}
		if len(parts[0]) > 0 {
			return nil, f.usage("--%s describes a mechanism, and none is named; allowed: one of %s, before its flags",
				spelling.Dashed(parts[0][0].name), strings.Join(Kinds(), ", "))
		}
		return nil, nil
	}
	events := make([]*accountantv1.Event, len(names))
	for i, kind := range kinds {
		e, err := f.event(kind, parts[i])
		if err != nil {
			return nil, err
		}
		events[i] = e
	}
	return events, nil
}

func (f *Flags) usage(format string, args ...any) error { return cli.Usage(f.command, format, args...) }

// invalid says that a flag's value is wrong.
func (f *Flags) invalid(flag, text string, err error) error {
	var number *strconv.NumError
	if errors.As(err, &number) { // of one of the command's own flags
		err = errors.New("allowed: a number, such as 1.1 or 1e-6")
	}
	return cli.UsageOf(f.command, "--"+flag+" ", "--%s: %q; %v%s", flag, text, err, cli.Hint(text, err.Error()))
}

// give sets the command's own flags, as if there were no others of their names.
func (f *Flags) give(left map[string][]string) error {
	for name, own := range f.own {
		flag := f.command.Flags().Lookup(spelling.Dashed(name))
		flag.Changed = len(left[name]) > 0
		for _, text := range left[name] {
			if err := own.Set(text); err != nil {
				return f.invalid(flag.Name, text, err)
			}
		}
	}
	return nil
}

// kind finds the kind that a word names.
func (f *Flags) kind(name string) (protoreflect.FieldDescriptor, error) {
	if kind, ok := kindNamed(name); ok {
		return kind, nil
	}
	if _, err := os.Stat(name); err == nil && f.command.Flags().Lookup("file") != nil {
		return nil, f.usage("%q is a file; allowed: --file %s, or a mechanism in its place", name, name)
	}
	if other := kindOf(protoreflect.Name(strings.ReplaceAll(name, "-", "_"))); other != nil &&
		other.Name() != samplingKind {
		return nil, f.usage("mechanism: %q has mechanisms inside, which flags cannot describe; allowed: in a "+
			"workload file, see examples/mechanisms/%s.json",
			name, other.Name())
	}
	if strings.Contains(name, Separator) {
		return nil, cli.UsageOf(f.command, " + ", "mechanism: %q; allowed: mechanisms with a lone + between them, "+
			"each with its flags and with spaces around the +", name)
	}
	if args := f.command.Flags().Args(); len(args) == 2 && args[1] == name && Named(args[0]) {
		return nil, f.usage("mechanism: %q; the ledger's name stands before the mechanism: %s %s %s …", name,
			f.command.CommandPath(), name, args[0])
	}
	return nil, f.usage("mechanism: %q; %sallowed: %s", name, cli.Meant(name, Kinds()), strings.Join(Kinds(), ", "))
}

// event makes an event of one mechanism's flags.
func (f *Flags) event(kind protoreflect.FieldDescriptor, flags []given) (*accountantv1.Event, error) {
	other := kindOf(samplingKind) // around the named one, or inside it
	if holdsNoise(kind) {
		other = noiseOf(flags)
	}
	base, wrapper := &accountantv1.Mechanism{}, &accountantv1.Mechanism{}
	inner := base.ProtoReflect().Mutable(kind).Message()
	outer := wrapper.ProtoReflect().Mutable(other).Message()
	event := &accountantv1.Event{Count: 1}
	sampled, seen := false, map[string]bool{}
	for _, g := range flags {
		if seen[g.name] && !isList(kind, g.name) {
			return nil, f.twice(kind, g)
		}
		seen[g.name] = true
		name := protoreflect.Name(g.name)
		var into protoreflect.Message
		switch p, q := inner.Descriptor().Fields().ByName(name), outer.Descriptor().Fields().ByName(name); {
		case g.name == count:
			into, name = event.ProtoReflect(), count
		case p != nil:
			into = inner
		case q != nil:
			into, sampled = outer, true
		default:
			return nil, f.foreign(kind, other, spelling.Dashed(g.name))
		}
		if err := values.SetField(into, into.Descriptor().Fields().ByName(name), g.text); err != nil {
			return nil, f.invalid(spelling.Dashed(g.name), g.text, err)
		}
	}
	event.Mechanism = base
	switch {
	case holdsNoise(kind):
		base.GetRandomAllocation().Mechanism = wrapper
	case sampled:
		wrapper.GetPoissonSampled().Mechanism = base
		event.Mechanism = wrapper
	}
	return event, nil
}

// foreign refuses a flag that is not of the mechanism, and says which one of its own is also called so.
func (f *Flags) foreign(kind, other protoreflect.FieldDescriptor, name string) error {
	own, meant := flagNames(kind), ""
	for _, flag := range flagNames(other) {
		if !slices.Contains(own, flag) {
			own = append(own, flag)
		}
	}
	if i := slices.IndexFunc(own, func(flag string) bool { return cli.AlsoCalled(flag[2:], name) }); i >= 0 {
		meant = "did you mean " + own[i] + "? "
	}
	return f.usage("--%s does not belong to %s; %sallowed: %s", name, spell(kind), meant, strings.Join(own, ", "))
}

// noiseOf is the noise that the flags of a mechanism with noise inside describe: the first of the
// kinds unless a flag belongs to another one alone.
func noiseOf(flags []given) protoreflect.FieldDescriptor {
	has := func(kind protoreflect.FieldDescriptor, name string) bool {
		return kind.Message().Fields().ByName(protoreflect.Name(name)) != nil
	}
	first := noiseKinds()[0]
	for _, kind := range noiseKinds()[1:] {
		if slices.ContainsFunc(flags, func(g given) bool { return has(kind, g.name) && !has(first, g.name) }) {
			return kind
		}
	}
	return first
}

// twice refuses a flag that is given again for the same mechanism.
func (f *Flags) twice(kind protoreflect.FieldDescriptor, g given) error {
	flag := "--" + spelling.Dashed(g.name)
	if f.own[g.name] != nil {
		return f.usage("%s is given twice after %s, which has one of its own; the other %s stands before the "+
			"mechanism: %s %s %s %s …",
			flag, spell(kind), flag, f.command.CommandPath(), flag, g.text, spell(kind))
	}
	return f.usage("%s is given twice for %s; allowed: once, or the next mechanism after a lone %s",
		flag, spell(kind), Separator)
}

func isList(kind protoreflect.FieldDescriptor, name string) bool {
	p := kind.Message().Fields().ByName(protoreflect.Name(name))
	return p != nil && p.IsList()
}
