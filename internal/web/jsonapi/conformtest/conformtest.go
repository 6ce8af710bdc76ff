// SPDX-License-Identifier: Apache-2.0

// Package conformtest holds the API as JSON against its OpenAPI document, for tests. It reads the document by the rules
// of OpenAPI 3.1, whose schemas are those of JSON Schema 2020-12, with libraries that others wrote: what they refuse,
// a generated client may refuse too.
package conformtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/dpaccountant/accountant/internal/web/jsonapi"
)

// Document returns the OpenAPI document as a library reads it, or what is wrong with it.
func Document(ctx context.Context, text []byte) (*openapi3.T, error) {
	d, err := openapi3.NewLoader().LoadFromData(text)
	if err == nil {
		err = d.Validate(ctx, openapi3.EnableExamplesValidation())
	}
	return d, err
}

// Transport is a RoundTripper that fails its test if a call of the API, or its answer, is not as the document says:
// the body of each request that the daemon has taken, each answer, each line of a stream, and each error.
type Transport struct {
	T    testing.TB
	Next http.RoundTripper // nil: http.DefaultTransport
}

// schemas are read once: that takes longer than a call.
var schemas = sync.OnceValue(NewSchemas)

// RoundTrip implements http.RoundTripper.
func (c *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	next := c.Next
	if next == nil {
		next = http.DefaultTransport
	}
	if !strings.HasPrefix(r.URL.Path, jsonapi.Prefix) {
		return next.RoundTrip(r)
	}
	var sent []byte
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err == nil {
			sent, err = io.ReadAll(body)
		}
		if err != nil {
			return nil, err
		}
	}
	a, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	method := strings.TrimPrefix(r.URL.Path, jsonapi.Prefix)
	if a.StatusCode == http.StatusOK {
		if err := schemas().Request(method, sent); err != nil {
			c.T.Errorf("the daemon takes a request of %s that its document does not allow: %s: %v", method, sent, err)
		}
	}
	kind, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		c.T.Errorf("%s: Content-Type of the answer: %v", method, err)
	}
	if kind == "application/x-ndjson" && a.StatusCode == http.StatusOK {
		a.Body = &lines{ReadCloser: a.Body, check: func(line []byte) {
			if err := schemas().Line(method, line); err != nil {
				c.T.Errorf("a line of %s is not as the document says: %s: %v", method, line, err)
			}
		}}
		return a, nil
	}
	body, err := io.ReadAll(a.Body)
	_ = a.Body.Close()
	a.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if r.Method == http.MethodHead {
		return a, nil // which has no body
	}
	if err := schemas().Answer(method, a.StatusCode, kind, body); err != nil {
		c.T.Errorf("the answer %d of %s is not as the document says: %s: %v", a.StatusCode, method, body, err)
	}
	return a, nil
}

// lines checks each line that is read.
type lines struct {
	io.ReadCloser
	check func([]byte)
	part  []byte
}

// Read implements io.Reader.
func (l *lines) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	for l.part = append(l.part, b[:n]...); ; {
		line, rest, ok := bytes.Cut(l.part, []byte("\n"))
		if !ok {
			return n, err
		}
		l.check(line)
		l.part = bytes.Clone(rest)
	}
}

// Schemas are those of the document. They are for concurrent use.
type Schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	document map[string]any
	compiled map[string]*jsonschema.Schema
}

const resource = "openapi.json"

// NewSchemas reads the document, of which Document says whether it is valid.
func NewSchemas() *Schemas {
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(jsonapi.Document))
	if err != nil {
		panic(err) // only in a build whose document is no JSON
	}
	s := &Schemas{compiler: jsonschema.NewCompiler(), document: text.(map[string]any),
		compiled: map[string]*jsonschema.Schema{}}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	if err := s.compiler.AddResource(resource, text); err != nil {
		panic(err) // only for a name that is no address
	}
	return s
}

// Request checks the body of a request.
func (s *Schemas) Request(method string, body []byte) error {
	return s.check(body, "paths", jsonapi.Prefix+method, "post", "requestBody", "content", "application/json", "schema")
}

// Answer checks the body of an answer that is no stream. A path that is no method's answers with an error.
func (s *Schemas) Answer(method string, code int, kind string, body []byte) error {
	responses := []string{"paths", jsonapi.Prefix + method, "post", "responses"}
	switch {
	case !s.has(responses...) && code != http.StatusOK:
		if kind != "application/json" {
			return fmt.Errorf("an error as %s", kind)
		}
		return s.check(body, "components", "schemas", "Error")
	case kind == "text/plain":
		text, err := json.Marshal(string(body))
		if err != nil {
			return err
		}
		return s.check(text, append(responses, strconv.Itoa(code), "content", kind, "schema")...)
	case code == http.StatusOK:
		return s.check(body, append(responses, "200", "content", kind, "schema")...)
	}
	return s.check(body, append(responses, "default", "content", kind, "schema")...)
}

// Line checks a line of a stream.
func (s *Schemas) Line(method string, line []byte) error {
	return s.check(line, "paths", jsonapi.Prefix+method, "post", "responses", "200", "content", "application/x-ndjson",
		"schema", "x-line")
}

func (s *Schemas) check(text []byte, path ...string) error {
	if !json.Valid(text) {
		return fmt.Errorf("%q is no JSON", text)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	schema, err := s.at(path)
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// at returns the schema at a place of the document.
func (s *Schemas) at(path []string) (*jsonschema.Schema, error) {
	if !s.has(path...) {
		return nil, fmt.Errorf("the document has nothing at %q", path)
	}
	place := resource + "#"
	for _, part := range path {
		place += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.compiled[place]; known != nil {
		return known, nil
	}
	schema, err := s.compiler.Compile(place)
	if err == nil {
		s.compiled[place] = schema
	}
	return schema, err
}

func (s *Schemas) has(path ...string) bool {
	var at any = s.document
	for _, part := range path {
		inner, ok := at.(map[string]any)
		if at, ok = inner[part], ok && inner[part] != nil; !ok {
			return false
		}
	}
	return true
}
