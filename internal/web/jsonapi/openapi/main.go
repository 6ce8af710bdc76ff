// Command openapi writes the OpenAPI document of the API as JSON over HTTP. It is a plugin of protoc, which
// `make generate` runs.
//
// The generators of grpc-gateway describe the JSON of protobuf's own library. Ours differs (package wirejson):
// 64-bit integers are numbers where every reader has them exactly, and all fields that are not optional are
// always there. So the document is made from the same descriptors here.
package main

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	protogen.Options{}.Run(func(p *protogen.Plugin) error {
		p.SupportedFeatures = uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)
		for _, f := range p.Files {
			for _, s := range f.Services {
				text, err := json.MarshalIndent(document(f, s), "", "  ")
				if err != nil {
					return err
				}
				_, err = p.NewGeneratedFile("openapi.json", "").Write(append(text, '\n'))
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

type object = map[string]any

// document describes a service.
func document(f *protogen.File, s *protogen.Service) object {
	d := &describer{schemas: object{}}
	paths := object{}
	for _, m := range s.Methods {
		if !m.Desc.IsStreamingClient() {
			paths["/"+string(s.Desc.FullName())+"/"+string(m.Desc.Name())] = object{"post": d.operation(m)}
		}
	}
	d.schemas["Error"] = errorSchema()
	return object{
		"openapi": "3.1.0",
		"info": object{"title": strings.TrimSpace(string(s.Desc.Name())), "version": string(f.Desc.Package().Name()),
			"description": text(s.Comments.Leading)},
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
	return object{
		"operationId": string(m.Desc.Name()),
		"description": text(m.Comments.Leading),
		"requestBody": object{"required": true,
			"content": object{"application/json": object{"schema": d.message(m.Input)}}},
		"responses": responses,
	}
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
