package wire

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// RejectUnknown refuses a message with a field, at any depth, that this version
// does not know: a newer client's request must not lose a part silently.
func RejectUnknown(m proto.Message) error {
	path, u := unknownIn(m.ProtoReflect(), 0)
	if u == nil {
		return nil
	}
	number, _, _ := protowire.ConsumeTag(u.GetUnknown())
	name := u.Descriptor().FullName()
	path = strings.TrimSuffix(path, ".")
	if path == "" {
		path = string(name.Name())
	}
	return invalid(path, fmt.Sprintf("unknown field %d", number),
		fmt.Sprintf("the fields of %s that this version knows", name))
}

// maxDepth bounds the path in a message, for messages nested without end.
const maxDepth = 32

// unknownIn returns the first message within m that has unknown fields, with
// its path, or nil. It asks each field of m rather than ranging over them, and
// makes a path only once it has found something: this is on every request's way.
func unknownIn(m protoreflect.Message, depth int) (string, protoreflect.Message) {
	if len(m.GetUnknown()) > 0 {
		return "", m
	}
	all := m.Descriptor().Fields()
	for i := 0; i < all.Len(); i++ {
		fd := all.Get(i)
		if fd.Message() == nil || !m.Has(fd) {
			continue
		}
		var path string
		var found protoreflect.Message
		switch v := m.Get(fd); {
		case fd.IsMap():
			if fd.MapValue().Message() == nil {
				continue
			}
			v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				if path, found = unknownIn(v.Message(), depth+1); found != nil {
					path = fmt.Sprintf("%s[%s].%s", fd.Name(), show(k.String()), path)
				}
				return found == nil
			})
		case fd.IsList():
			for j := 0; j < v.List().Len() && found == nil; j++ {
				if path, found = unknownIn(v.List().Get(j).Message(), depth+1); found != nil {
					path = fmt.Sprintf("%s[%d].%s", fd.Name(), j, path)
				}
			}
		default:
			if path, found = unknownIn(v.Message(), depth+1); found != nil {
				path = string(fd.Name()) + "." + path
			}
		}
		if found != nil {
			if depth >= maxDepth {
				path = "…."
			}
			return path, found
		}
	}
	return "", nil
}
