// SPDX-License-Identifier: Apache-2.0

package jsonapi_test

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/web/jsonapi"
)

// The OpenAPI document has every method but the stream of requests, every reference in it leads somewhere,
// and its fields are those of the messages.
func TestDocument(t *testing.T) {
	t.Parallel()
	var d struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(jsonapi.Document, &d); err != nil {
		t.Fatal(err)
	}
	n := 0
	for m := range api.Methods() {
		if m.IsStreamingClient() {
			continue
		}
		n++
		if d.Paths[api.Path(m)]["post"] == nil {
			t.Errorf("%s is not in the document: make generate", m.Name())
		}
		for _, message := range []protoreflect.MessageDescriptor{m.Input(), m.Output()} {
			described := d.Components.Schemas[string(message.Name())].Properties
			for j := range message.Fields().Len() {
				if f := message.Fields().Get(j).JSONName(); described[f] == nil {
					t.Errorf("%s.%s is not in the document: make generate", message.Name(), f)
				}
			}
		}
	}
	if len(d.Paths) != n {
		t.Errorf("%d paths for %d methods", len(d.Paths), n)
	}
	var follow func(v any)
	follow = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if to, ok := v["$ref"].(string); ok {
				if _, there := d.Components.Schemas[to[len("#/components/schemas/"):]]; !there {
					t.Errorf("%s leads nowhere", to)
				}
			}
			for _, inner := range v {
				follow(inner)
			}
		case []any:
			for _, inner := range v {
				follow(inner)
			}
		}
	}
	var all any
	if err := json.Unmarshal(jsonapi.Document, &all); err != nil {
		t.Fatal(err)
	}
	follow(all)
}
