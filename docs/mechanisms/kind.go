// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// kind is one mechanism of the API.
type kind struct {
	Name        string
	Summary     string // of the oneof: a few words
	Text        string // of the message
	Parameters  []parameter
	Adjacencies []adjacency
	Sampled     []adjacency // inside poisson_sampled
	Analyses    []analysis
	Example     string // the workload, as it is in the file

	workload  mechanism.Composition
	mechanism mechanism.Mechanism // of its first event
	adjacency mechanism.Adjacency // of the example
}

type parameter struct{ Name, Text string }

// adjacency says whether a mechanism is defined under one, else why not.
type adjacency struct {
	Name    string
	Refused string
}

var adjacencies = [...]mechanism.Adjacency{mechanism.AddOrRemoveOne, mechanism.ReplaceOne, mechanism.ZeroOut}

// kinds are the mechanisms of the API in the order of their numbers.
func kinds() []protoreflect.FieldDescriptor {
	fields := (&accountantv1.Mechanism{}).ProtoReflect().Descriptor().Oneofs().ByName("kind").Fields()
	out := make([]protoreflect.FieldDescriptor, fields.Len())
	for i := range out {
		out[i] = fields.Get(i)
	}
	return out
}

func describe(root string, field protoreflect.FieldDescriptor, c comments) (*kind, error) {
	k := &kind{Name: string(field.Name())}
	var err error
	if k.Summary, err = c.field(field); err != nil {
		return nil, err
	}
	if k.Text, err = c.message(field.Message()); err != nil {
		return nil, err
	}
	if k.Parameters, err = parameters(field.Message(), "", c); err != nil {
		return nil, err
	}
	if err := k.example(root); err != nil {
		return nil, err
	}
	k.Adjacencies = defined(k.mechanism)
	if k.Name != "poisson_sampled" {
		k.Sampled = defined(mechanism.PoissonSampled{SamplingProbability: 0.01, Mechanism: k.mechanism})
	}
	k.Analyses, err = k.ask()
	return k, err
}

// parameters are a message's fields, those of messages inside with their path.
func parameters(m protoreflect.MessageDescriptor, path string, c comments) ([]parameter, error) {
	var out []parameter
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		text, err := c.field(f)
		if err != nil {
			return nil, err
		}
		name := path + string(f.Name())
		if f.IsList() {
			name += "[]"
		}
		out = append(out, parameter{name, text})
		if inner := f.Message(); inner != nil && inner.FullName() != "accountant.v1.Mechanism" &&
			inner.FullName() != "accountant.v1.Event" {
			rows, err := parameters(inner, name+".", c)
			if err != nil {
				return nil, err
			}
			out = append(out, rows...)
		}
	}
	return out, nil
}

// example reads the workload; its first event is of this kind.
func (k *kind) example(root string) error {
	file := filepath.Join(root, "examples/mechanisms", k.Name+".json")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	w := &accountantv1.Workload{}
	if err := wirejson.Unmarshal(text, w); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	_, c, err := wire.ToWorkload(w)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if len(c.Parts) == 0 || c.Parts[0].Mechanism.Kind() != k.Name {
		return fmt.Errorf("%s: the first event is no %s", file, k.Name)
	}
	k.Example, k.workload = strings.TrimSpace(string(text)), c
	k.mechanism, k.adjacency = c.Parts[0].Mechanism, c.Adjacency
	return nil
}

// defined asks the descriptor itself.
func defined(m mechanism.Mechanism) []adjacency {
	out := make([]adjacency, len(adjacencies))
	for i, adj := range adjacencies {
		out[i].Name = adj.String()
		err := m.Check(adj)
		var elsewhere *mechanism.AdjacencyError
		var wrong *mechanism.ParameterError
		switch {
		case errors.As(err, &elsewhere):
			out[i].Refused = elsewhere.Reason + "; report instead: " + elsewhere.Hint
		case errors.As(err, &wrong):
			out[i].Refused = wrong.Error()
		case err != nil:
			out[i].Refused = err.Error()
		}
	}
	return out
}
