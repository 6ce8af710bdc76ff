// SPDX-License-Identifier: Apache-2.0

// Command openapi writes the OpenAPI document of the API as JSON over HTTP. It is a plugin of protoc, which
// `make generate` runs.
//
// The generators of grpc-gateway describe the JSON of protobuf's own library. Ours differs (package wirejson):
// 64-bit integers are numbers where every reader has them exactly, and all fields that are not optional are
// always there. So the document is made from the same descriptors here.
package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	protogen.Options{}.Run(func(p *protogen.Plugin) error {
		p.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		files, err := protodesc.NewFiles(&descriptorpb.FileDescriptorSet{File: p.Request.GetProtoFile()})
		if err != nil {
			return err
		}
		types := dynamicpb.NewTypes(files)
		for _, f := range p.Files {
			if len(f.Services) == 0 {
				continue
			}
			text, err := json.MarshalIndent(document(f, types), "", "  ")
			if err != nil {
				return err
			}
			if _, err = p.NewGeneratedFile("openapi.json", "").Write(append(text, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
}

type object = map[string]any

// document describes the services of a file.
func document(f *protogen.File, types *dynamicpb.Types) object {
	d := &describer{schemas: object{}, types: types}
	paths := object{}
	var tags []object
	for _, s := range f.Services {
		tags = append(tags, object{"name": string(s.Desc.Name()), "description": text(s.Comments.Leading)})
		for _, m := range s.Methods {
			if !m.Desc.IsStreamingClient() {
				paths["/"+string(s.Desc.FullName())+"/"+string(m.Desc.Name())] = object{"post": d.operation(m)}
			}
		}
	}
	d.schemas["Error"] = errorSchema()
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "The privacy accountant", "version": string(f.Desc.Package().Name()),
			"description": "Keeps ledgers of differentially private releases, and answers what they cost."},
		"tags":     tags,
		"security": []object{{}, {"token": []string{}}},
		"paths":    paths,
		"components": object{"schemas": d.schemas,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}}},
	}
}

// errorSchema is of every answer but 200, and of the last line of a stream that failed.
func errorSchema() object {
	return object{
		"type":        "object",
		"description": "Why a call failed.",
		"required":    []string{"error"},
		"properties": object{"error": object{
			"type":     "object",
			"required": []string{"code", "status", "message", "details"},
			"properties": object{
				"code":    object{"type": "integer", "description": "The code of gRPC, such as 5."},
				"status":  object{"type": "string", "description": "Its name, such as NOT_FOUND."},
				"message": object{"type": "string", "description": "What was wrong, its value, and what is allowed."},
				"details": object{"type": "array", "items": object{"type": "object"},
					"description": "What a program may want to know: @type names the message of the API, such as " +
						"accountant.v1.BudgetExceeded, whose fields follow."},
			},
		}},
	}
}

type describer struct {
	schemas object // by name
	types   *dynamicpb.Types
}

func (d *describer) operation(m *protogen.Method) object {
	answer := object{"application/json": object{"schema": d.message(m.Output)}}
	said := "The answer."
	if m.Desc.IsStreamingServer() {
		said = "A line of JSON for each message: {\"result\": …}, or {\"error\": …} as the last one."
		line := object{"oneOf": []object{reference("Error"),
			{"type": "object", "required": []string{"result"}, "properties": object{"result": d.message(m.Output)}}}}
		answer = object{"application/x-ndjson": object{"schema": object{"type": "string", "x-line": line}}}
	}
	responses := object{"200": object{"description": said, "content": answer},
		"431": object{"description": "The headers are too large. Nothing has read the call yet, so the answer is " +
			"plain text.", "content": object{"text/plain": object{"schema": object{"type": "string"}}}},
		"default": object{"description": "The call failed.", "content": object{"application/json": object{
			"schema": reference("Error")}}}}
	needs, reads := d.access(m)
	return object{
		"operationId":  string(m.Desc.Name()),
		"tags":         []string{string(m.Parent.Desc.Name())},
		"description":  text(m.Comments.Leading),
		"x-access":     needs,
		"x-reads-only": reads,
		"requestBody": object{"required": true,
			"content": object{"application/json": object{"schema": d.message(m.Input)}}},
		"responses": responses,
	}
}

// access says what a caller needs for a method: the options of the API that the daemon's gate follows. They are read by
// their descriptors, because the Go code of the API may not exist yet when this plugin runs.
func (d *describer) access(m *protogen.Method) (needs object, reads bool) {
	raw, err := proto.Marshal(m.Desc.Options())
	options := new(descriptorpb.MethodOptions)
	if err == nil {
		err = proto.UnmarshalOptions{Resolver: d.types}.Unmarshal(raw, options)
	}
	var text []byte
	if err == nil {
		text, err = protojson.MarshalOptions{Resolver: d.types}.Marshal(options)
	}
	said := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err == nil {
		err = json.Unmarshal(said["[accountant.v1.access]"], &needs)
	}
	if err != nil {
		panic(fmt.Sprintf("%s does not say what a caller needs for it: %v", m.Desc.FullName(), err))
	}
	return needs, options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

func reference(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// message returns a reference to a message's schema, and describes it if that was not done yet.
func (d *describer) message(m *protogen.Message) object {
	if m.Desc.FullName() == "google.protobuf.Timestamp" {
		return object{"type": "string", "format": "date-time"}
	}
	full := string(m.Desc.FullName())
	name := strings.TrimPrefix(full, string(m.Desc.ParentFile().Package())+".")
	if d.schemas[name] != nil {
		return reference(name)
	}
	properties := object{}
	schema := object{"type": "object", "properties": properties, "additionalProperties": false}
	d.schemas[name] = schema // before its fields, which may have it inside
	if about := text(m.Comments.Leading); about != "" {
		schema["description"] = about
	}
	for _, f := range m.Fields {
		properties[f.Desc.JSONName()] = d.field(f)
	}
	for _, o := range m.Oneofs {
		if o.Desc.IsSynthetic() {
			continue
		}
		var alternatives []object // at most one of them
		for _, f := range o.Fields {
			alternatives = append(alternatives, object{"required": []string{f.Desc.JSONName()}})
		}
		alternatives = append(alternatives, object{"not": object{"anyOf": slices.Clone(alternatives)}})
		one := object{"oneOf": alternatives}
		all, _ := schema["allOf"].([]object)
		schema["allOf"] = append(all, one)
	}
	return reference(name)
}

func (d *describer) field(f *protogen.Field) object {
	var schema object
	switch {
	case f.Desc.IsMap():
		schema = object{"type": "object", "additionalProperties": d.value(f.Message.Fields[1])}
	case f.Desc.IsList():
		schema = object{"type": "array", "items": d.value(f)}
	default:
		schema = d.value(f)
	}
	if about := text(f.Comments.Leading + f.Comments.Trailing); about != "" {
		schema["description"] = about
	}
	return schema
}

// value describes one value of a field. The forms are those that wirejson writes; it reads a few more.
func (d *describer) value(f *protogen.Field) object {
	switch f.Desc.Kind() {
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.EnumKind:
		var names []string
		for _, v := range f.Enum.Values {
			names = append(names, string(v.Desc.Name()))
		}
		return object{"type": "string", "enum": names}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return object{"type": "integer", "format": "int32"}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return object{"type": "integer", "format": "uint32", "minimum": 0, "maximum": 1<<32 - 1}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return object{"oneOf": []object{{"type": "integer", "format": "int64"},
			{"type": "string", "pattern": "^-?[0-9]+$"}}}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return object{"oneOf": []object{{"type": "integer", "format": "uint64", "minimum": 0},
			{"type": "string", "pattern": "^[0-9]+$"}}}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return object{"oneOf": []object{{"type": "number", "format": "double"},
			{"type": "string", "enum": []string{"Infinity", "-Infinity", "NaN"}}}}
	case protoreflect.BytesKind:
		return object{"type": "string", "format": "byte", "contentEncoding": "base64"}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return d.message(f.Message)
	}
	return object{"type": "string"}
}

// text is a comment of the API's.
func text(c protogen.Comments) string {
	var lines []string
	for line := range strings.Lines(string(c)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
