package mechanisms

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/spelling"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// kindFields are the alternatives of Mechanism, in the order of their numbers.
func kindFields() []protoreflect.FieldDescriptor {
	fields := (&accountantv1.Mechanism{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	out := make([]protoreflect.FieldDescriptor, fields.Len())
	for i := range out {
		out[i] = fields.Get(i)
	}
	return out
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

// described: flags can describe the kind, which has nothing within it.
func described(kind protoreflect.FieldDescriptor) bool {
	for i, fields := 0, kind.Message().Fields(); i < fields.Len(); i++ {
		if fields.Get(i).Message() != nil {
			return false
		}
	}
	return true
}

// Kinds are the names of the mechanisms that flags can describe.
func Kinds() []string {
	var out []string
	for _, k := range kindFields() {
		if described(k) {
			out = append(out, spelling.Dashed(string(k.Name())))
		}
	}
	return out
}

func flagNames(kind protoreflect.FieldDescriptor) []string {
	var out []string
	for _, f := range parameters(kind) {
		out = append(out, "--"+spelling.Dashed(string(f.Name())))
	}
	return out
}
