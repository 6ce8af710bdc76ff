// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// RejectUnknown refuses a request with a field that this version does not know:
// a newer client's request must not lose a part silently. It looks at every
// depth, except into charges, workloads and events, which can be large and many:
// ToCharge, ToWorkload and ToCalibration refuse unknown fields in those.
func RejectUnknown(m proto.Message) error {
	switch m := m.(type) {
	case *pb.ReportRequest:
		if err := Known("request", m); err != nil {
			return err
		}
		return RejectUnknown(m.GetLane())
	case *pb.ReportStreamRequest:
		if err := Known("request", m); err != nil {
			return err
		}
		r := m.ProtoReflect()
		if fd := r.WhichOneof(r.Descriptor().Oneofs().ByName("message")); fd != nil {
			return Known(string(fd.Name()), r.Get(fd).Message().Interface())
		}
		return nil
	case *pb.QueryPrivacyRequest, *pb.QueryPrivacyCurveRequest, *pb.CalibrateRequest:
		return Known("request", m)
	}
	path, u := unknownIn(m.ProtoReflect(), 0)
	if u == nil {
		return nil
	}
	path = strings.TrimSuffix(path, ".")
	if path == "" {
		path = "request"
	}
	return unknown(path, u)
}

// Known refuses unknown fields of m itself, not of messages within it.
func Known(field string, m proto.Message) error {
	r := m.ProtoReflect()
	if len(r.GetUnknown()) == 0 {
		return nil
	}
	return unknown(field, r)
}

const unknownFieldText = "unknown field "

func unknown(field string, m protoreflect.Message) error {
	number, _, _ := protowire.ConsumeTag(m.GetUnknown())
	return Invalid(field, fmt.Sprintf(unknownFieldText+"%d", number),
		fmt.Sprintf("the fields of %s that this version knows", m.Descriptor().FullName()))
}

// MaxDepth bounds the depth of JSON and of the path to an unknown field; no message
// of the API comes near it.
const MaxDepth = 32

// unknownIn returns the first message within m that has unknown fields, with
// its path, or nil.
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
					path = fmt.Sprintf("%s[%s].%s", fd.Name(), Quote(k.String()), path)
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
			if depth >= MaxDepth {
				path = "…."
			}
			return path, found
		}
	}
	return "", nil
}
