// Package mechanisms makes flags of the API's mechanisms: it is the one place that knows
// which parameters they have. kinds.go reads the kinds and their parameters from the
// API's messages, help.go describes them, and flags.go makes an event of the flags that
// were given.
package mechanisms

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/spelling"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// samplingKind wraps another mechanism; its flags go with every other kind.
const samplingKind = "poisson_sampled"

// Flags holds a flag for each parameter of each kind of mechanism.
type Flags struct {
	names  []string            // of the parameters, in the API's spelling
	floats map[string]*float64 // by the parameter's name
	sizes  map[string]*uint64
	lists  map[string]*[]float64
	yes    map[string]*bool
	words  map[string]*string // one of an enum's names
	count  uint32
}

// AddFlags adds the flags to c.
func AddFlags(c *cobra.Command) *Flags {
	f := &Flags{
		floats: map[string]*float64{}, sizes: map[string]*uint64{}, lists: map[string]*[]float64{},
		yes: map[string]*bool{}, words: map[string]*string{},
	}
	for _, kind := range kindFields() {
		if !described(kind) && kind.Name() != samplingKind {
			continue
		}
		for _, field := range parameters(kind) {
			name := string(field.Name())
			if c.Flags().Lookup(spelling.Dashed(name)) != nil {
				continue // of another kind too
			}
			f.names = append(f.names, name)
			switch {
			case field.IsList():
				f.lists[name] = c.Flags().Float64Slice(spelling.Dashed(name), nil, parameterHelp(name))
			case field.Kind() == protoreflect.DoubleKind:
				f.floats[name] = c.Flags().Float64(spelling.Dashed(name), 0, parameterHelp(name))
			case field.Kind() == protoreflect.BoolKind:
				f.yes[name] = c.Flags().Bool(spelling.Dashed(name), false, parameterHelp(name))
			case field.Kind() == protoreflect.EnumKind:
				f.words[name] = c.Flags().String(spelling.Dashed(name), "", parameterHelp(name))
			default:
				f.sizes[name] = c.Flags().Uint64(spelling.Dashed(name), 0, parameterHelp(name))
			}
		}
	}
	c.Flags().Uint32Var(&f.count, "count", 1, "how often the mechanism is applied")
	return f
}

// Given lists the mechanism flags that are set, in the order of their names.
func (f *Flags) Given(c *cobra.Command) []string {
	var out []string
	for _, name := range f.names {
		if c.Flags().Changed(spelling.Dashed(name)) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	if c.Flags().Changed("count") {
		out = append(out, "count")
	}
	return out
}

// Event makes the event that the flags describe. Ranges are for the daemon to
// check; that a flag belongs to the kind is checked here.
func (f *Flags) Event(c *cobra.Command, kind string) (*accountantv1.Event, error) {
	all := kindFields()
	i := slices.IndexFunc(all, func(k protoreflect.FieldDescriptor) bool {
		return spelling.Dashed(string(k.Name())) == kind && described(k)
	})
	if i < 0 {
		return nil, cli.Usage(c, "mechanism: %q; allowed: %s", kind, strings.Join(Kinds(), ", "))
	}
	sampling := all[slices.IndexFunc(all, func(k protoreflect.FieldDescriptor) bool { return k.Name() == samplingKind })]
	base, wrapper := &accountantv1.Mechanism{}, &accountantv1.Mechanism{}
	inner := base.ProtoReflect().Mutable(all[i]).Message()
	outer := wrapper.ProtoReflect().Mutable(sampling).Message()
	sampled := false
	for _, name := range f.Given(c) {
		switch {
		case name == "count":
		case f.set(inner, name):
		case f.set(outer, name):
			sampled = true
		default:
			return nil, cli.Usage(c, "--%s does not belong to %s; allowed: %s", spelling.Dashed(name), kind,
				strings.Join(append(flagNames(all[i]), flagNames(sampling)...), ", "))
		}
	}
	if sampled {
		wrapper.GetPoissonSampled().Mechanism = base
		base = wrapper
	}
	return &accountantv1.Event{Mechanism: base, Count: f.count}, nil
}

// set gives m's parameter the flag's value. It returns false if m has none.
func (f *Flags) set(m protoreflect.Message, name string) bool {
	field := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	switch {
	case field == nil:
		return false
	case field.IsList():
		list := m.Mutable(field).List()
		for _, v := range *f.lists[name] {
			list.Append(protoreflect.ValueOfFloat64(v))
		}
	case field.Kind() == protoreflect.DoubleKind:
		m.Set(field, protoreflect.ValueOfFloat64(*f.floats[name]))
	case field.Kind() == protoreflect.BoolKind:
		m.Set(field, protoreflect.ValueOfBool(*f.yes[name]))
	case field.Kind() == protoreflect.EnumKind:
		number := protoreflect.EnumNumber(0) // what is misspelt is missing
		word := strings.ToUpper(strings.ReplaceAll(*f.words[name], "-", "_"))
		if v := field.Enum().Values().ByName(protoreflect.Name(word)); v != nil {
			number = v.Number()
		}
		m.Set(field, protoreflect.ValueOfEnum(number))
	default:
		m.Set(field, protoreflect.ValueOfUint64(*f.sizes[name]))
	}
	return true
}
