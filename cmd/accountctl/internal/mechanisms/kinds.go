// SPDX-License-Identifier: Apache-2.0

package mechanisms

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// samplingKind wraps another mechanism; its flags go with every other kind.
const samplingKind = "poisson_sampled"

// allocationKind holds another mechanism, of which its line has the flags: noise.
const allocationKind = "random_allocation"

// holdsNoise reports whether the kind's line has the flags of the noise inside it, too.
func holdsNoise(kind protoreflect.FieldDescriptor) bool { return kind.Name() == allocationKind }

// noiseKinds are what such a line may describe inside: what it has a flag of, or else the first.
func noiseKinds() []protoreflect.FieldDescriptor {
	return []protoreflect.FieldDescriptor{kindOf("gaussian"), kindOf("laplace")}
}

// aliases are other names by which people know a kind. Letters decide alone: "DP-SGD",
// "dp_sgd" and "dpSgd" are the same name, and "gaussian mechanism" is "gaussian".
func aliases(kind protoreflect.FieldDescriptor) []string {
	return mechanism.KindNumbered(int(kind.Number())).Aliases
}

// allKinds are the alternatives of Mechanism, in the order of their numbers.
func allKinds() []protoreflect.FieldDescriptor {
	fields := (&accountantv1.Mechanism{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	out := make([]protoreflect.FieldDescriptor, fields.Len())
	for i := range out {
		out[i] = fields.Get(i)
	}
	return out
}

// kindOf is the kind with this name in the API.
func kindOf(name protoreflect.Name) protoreflect.FieldDescriptor {
	return (&accountantv1.Mechanism{}).ProtoReflect().Descriptor().Fields().ByName(name)
}

// kindNamed is the kind that people call so, if flags can describe it.
func kindNamed(name string) (protoreflect.FieldDescriptor, bool) {
	letters := strings.NewReplacer("-", "", "_", "", " ", "")
	name = strings.TrimSuffix(letters.Replace(strings.ToLower(name)), "mechanism")
	for _, k := range allKinds() {
		if described(k) && (letters.Replace(string(k.Name())) == name || slices.Contains(aliases(k), name)) {
			return k, true
		}
	}
	return nil, false
}

// Named reports whether a word is the name of a mechanism that flags can describe.
func Named(name string) bool {
	_, ok := kindNamed(name)
	return ok
}

// Kinds are the names of the mechanisms that flags can describe.
func Kinds() []string {
	var out []string
	for _, k := range allKinds() {
		if described(k) {
			out = append(out, spell(k))
		}
	}
	return out
}

// spell is a kind's name as the command line spells it.
func spell(kind protoreflect.FieldDescriptor) string { return spelling.Dashed(string(kind.Name())) }

// described reports whether flags can describe the kind: it has no mechanism inside, or only noise.
func described(kind protoreflect.FieldDescriptor) bool {
	if holdsNoise(kind) {
		return true
	}
	for i, fields := 0, kind.Message().Fields(); i < fields.Len(); i++ {
		if fields.Get(i).Message() != nil {
			return false
		}
	}
	return true
}

// parameters are a kind's numbers, and what is yes or no or one of some words.
func parameters(kind protoreflect.FieldDescriptor) []protoreflect.FieldDescriptor {
	var out []protoreflect.FieldDescriptor
	for i, fields := 0, kind.Message().Fields(); i < fields.Len(); i++ {
		switch f := fields.Get(i); f.Kind() {
		case protoreflect.DoubleKind, protoreflect.Uint64Kind, protoreflect.BoolKind, protoreflect.EnumKind:
			out = append(out, f)
		}
	}
	return out
}

// isParameter reports whether some kind has a parameter of this name.
func isParameter(name string) bool {
	return slices.ContainsFunc(allKinds(), func(k protoreflect.FieldDescriptor) bool {
		return slices.ContainsFunc(parameters(k),
			func(p protoreflect.FieldDescriptor) bool { return string(p.Name()) == name })
	})
}

// flagNames are the flags of a kind's parameters.
func flagNames(kind protoreflect.FieldDescriptor) []string {
	var out []string
	for _, f := range parameters(kind) {
		out = append(out, "--"+spelling.Dashed(string(f.Name())))
	}
	return out
}
