// SPDX-License-Identifier: Apache-2.0

// Package losstest reads what the oracle writes, for the tests of the analyses:
// mechanisms in the spelling of the API and numbers with more digits than a
// float64 has. It also draws mechanisms of every kind for property tests.
package losstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/table"
)

// Read decodes a JSON file; it fails the test where it cannot.
func Read(t testing.TB, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// Number is a number or a string of digits, rounded to the nearest float64.
// The zero value is absent.
type Number struct {
	Value float64
	Given bool
}

// UnmarshalJSON takes both spellings.
func (n *Number) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if text[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && v != 0 && !math.IsInf(v, 0) { // out of range rounds to 0 or ±Inf
		return err
	}
	n.Value, n.Given = v, true
	return nil
}

// Mechanism is a mechanism in protobuf JSON.
type Mechanism struct{ mechanism.Mechanism }

// UnmarshalJSON reads {"gaussian": {…}}.
func (m *Mechanism) UnmarshalJSON(raw []byte) error {
	var kinds map[string]json.RawMessage
	if err := json.Unmarshal(raw, &kinds); err != nil {
		return err
	}
	if len(kinds) != 1 {
		return fmt.Errorf("%d kinds in %s", len(kinds), raw)
	}
	for name, body := range kinds {
		var values map[string]json.RawMessage
		if err := json.Unmarshal(body, &values); err != nil {
			return err
		}
		kind := mechanism.KindNamed(table.Snake(name))
		if kind == nil {
			return fmt.Errorf("no kind of mechanism is called %s", name)
		}
		var err error
		m.Mechanism = kind.New(func(p *table.Parameter, field reflect.Value) {
			if raw, given := values[camel(p.Name)]; given {
				err = errors.Join(err, set(field, raw))
				delete(values, camel(p.Name))
			}
		})
		if len(values) > 0 && err == nil {
			err = fmt.Errorf("%s has parameters that no %s has", body, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set gives a descriptor's field the value that the JSON describes. Whole numbers may be
// texts, as protobuf's JSON has them.
func set(field reflect.Value, raw []byte) error {
	switch v := field.Addr().Interface().(type) {
	case *mechanism.Numbers:
		var list []float64
		err := json.Unmarshal(raw, &list)
		*v = mechanism.NumbersOf(list...)
		return err
	case *mechanism.Mechanism:
		var inside Mechanism
		err := json.Unmarshal(raw, &inside)
		*v = inside.Mechanism
		return err
	case *mechanism.List[mechanism.Mechanism]:
		var parts []Mechanism
		err := json.Unmarshal(raw, &parts)
		list := make([]mechanism.Mechanism, len(parts))
		for i, part := range parts {
			list[i] = part.Mechanism
		}
		*v = mechanism.ListOf(list...)
		return err
	case *mechanism.List[mechanism.Event]:
		var parts []Event
		err := json.Unmarshal(raw, &parts)
		events := make([]mechanism.Event, len(parts))
		for i, e := range parts {
			events[i] = mechanism.Event{Mechanism: e.Mechanism.Mechanism, Count: e.Count}
		}
		*v = mechanism.ListOf(events...)
		return err
	case *mechanism.MaxNoise:
		word := string(raw)
		for _, n := range []mechanism.MaxNoise{mechanism.LaplaceMax, mechanism.ExponentialMax, mechanism.GumbelMax} {
			if word == strconv.Quote(n.String()) {
				*v = n
				return nil
			}
		}
		return fmt.Errorf("no distribution is called %s", word)
	case *uint64:
		raw = bytes.Trim(raw, `"`)
	}
	return json.Unmarshal(raw, field.Addr().Interface())
}

// camel spells a name of the API as its JSON does: dp_sgd is dpSgd.
func camel(name string) string {
	first, rest, more := strings.Cut(name, "_")
	if !more {
		return first
	}
	rest = camel(rest)
	return first + strings.ToUpper(rest[:1]) + rest[1:]
}

// Workload is events under an adjacency, with what is true of them.
type Workload struct {
	Name      string
	Adjacency Adjacency
	Events    []Event
	Truth     []Truth
}

// Event is a mechanism and how often it was applied.
type Event struct {
	Mechanism Mechanism
	Count     uint32
}

// Truth pairs an ε with a δ.
type Truth struct {
	Epsilon, Delta, LogDelta Number
	AskedByEpsilon           bool // ε was the row's first key: δ is the answer
}

// UnmarshalJSON notes which key comes first.
func (u *Truth) UnmarshalJSON(raw []byte) error {
	type plain Truth
	if err := json.Unmarshal(raw, (*plain)(u)); err != nil {
		return err
	}
	u.AskedByEpsilon = len(raw) > 9 && string(raw[:9]) == `{"epsilon`
	if !u.AskedByEpsilon {
		for i, c := range raw {
			if c == '"' {
				u.AskedByEpsilon = string(raw[i+1:i+8]) == "epsilon"
				break
			}
		}
	}
	return nil
}

// Composition composes the workload's events, or says that this program has
// not all its mechanisms.
func (w Workload) Composition() (mechanism.Composition, error) {
	events := make([]mechanism.Event, len(w.Events))
	for i, e := range w.Events {
		events[i] = mechanism.Event{Mechanism: e.Mechanism.Mechanism, Count: e.Count}
	}
	return mechanism.Compose(mechanism.Adjacency(w.Adjacency), events)
}

// Adjacency reads the API's spelling.
type Adjacency mechanism.Adjacency

// UnmarshalJSON reads "ADD_OR_REMOVE_ONE".
func (a *Adjacency) UnmarshalJSON(raw []byte) error {
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return err
	}
	for _, v := range []mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut} {
		if v.String() == name {
			*a = Adjacency(v)
			return nil
		}
	}
	return fmt.Errorf("adjacency %s", name)
}

// Example is the mechanism that a kind's workload in examples/mechanisms begins with, and the
// adjacency that it is under there. Tests over all kinds take it, so that a new kind is tested by
// them as soon as it has an example, which it must have.
type Example struct {
	Kind      *mechanism.Kind
	Mechanism mechanism.Mechanism
	Adjacency mechanism.Adjacency
}

// Examples returns the example of every kind. root is the path of the repository's root.
func Examples(t testing.TB, root string) []Example {
	t.Helper()
	var list []Example
	for _, k := range mechanism.Kinds() {
		var w Workload
		Read(t, filepath.Join(root, "examples/mechanisms", k.Name+".json"), &w)
		if len(w.Events) == 0 || w.Events[0].Mechanism.Kind() != k.Name {
			t.Fatalf("examples/mechanisms/%s.json does not begin with its kind", k.Name)
		}
		list = append(list, Example{k, w.Events[0].Mechanism.Mechanism, mechanism.Adjacency(w.Adjacency)})
	}
	return list
}
