// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/theorem"
)

const root = "../.."

// The page, the table and the Python signatures are what the code and the API say.
func TestPageIsCurrent(t *testing.T) {
	for file, write := range written {
		want, err := write(root)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the code says; run: make docs", file)
		}
	}
}

// What the API's comments say of a parameter's range is what its table says.
func TestRangesAreThoseOfTheComments(t *testing.T) {
	words := map[string][]string{
		"a finite number > 0":           {"> 0", "a whole number from 1 to 2^5"},
		"a number in (0, 1)":            {"(0, 1)"},
		"a number in (0, 1]":            {"(0, 1]", "0.001 to 1"},
		"a number > -1 other than 0":    {"> -1"},
		"a whole number from 1":         {"1 to ", "the number of coefficients to "},
		"a whole number from 1 to 2^20": {"1 to 2^20"},
		"a whole number from 1 to 2^32": {"1 to 2^32"},
		"a whole number from 1 to 2^53": {"1 to ", "2 to 2^53", "a whole number from 1 to 2^5"},
		"a whole number from 2 to 2^40": {"2 to 2^40"},
	}
	for _, k := range mechanism.Kinds() {
		for _, p := range k.Parameters {
			_, text, found := strings.Cut(p.Help, "Range: ")
			if p.Range() == "" {
				continue
			}
			if !found || !slices.ContainsFunc(words[p.Range()],
				func(w string) bool { return strings.HasPrefix(text, w) }) {
				t.Errorf("%s.%s: the table allows %s, the comment says %q", k.Name, p.Name, p.Range(), p.Help)
			}
		}
	}
}

// Every kind has an example that parses, checks and is answered, from above and,
// asked the other way, consistently.
func TestExamplesAreAnswered(t *testing.T) {
	comments, err := readComments(filepath.Join(root, "gen/accountant/v1/mechanism.pb.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range kinds() {
		k, err := describe(root, field, comments)
		if err != nil {
			t.Error(err)
			continue
		}
		c, err := mechanism.Compose(k.adjacency, []mechanism.Event{{Mechanism: k.mechanism, Count: 1}})
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		a, err := accountant.Ask(c, accountant.AtDelta(delta))
		if err != nil || a.Analysis == "" || math.IsNaN(a.Epsilon) || math.IsInf(a.Epsilon, 1) {
			t.Errorf("%s: %+v, %v", k.Name, a, err)
			continue
		}
		if back, err := accountant.Ask(c, accountant.AtEpsilon(a.Epsilon)); err != nil ||
			back.LogDeltaLower != nil && *back.LogDeltaLower > math.Log(delta)+1e-12 {
			t.Errorf("%s: ε(%v) = %v, δ there is %+v, %v", k.Name, delta, a.Epsilon, back, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(root, "examples/mechanisms/*"))
	if err != nil || len(files) != len(kinds()) {
		t.Errorf("%d examples of %d kinds, %v", len(files), len(kinds()), err)
	}
}

// No classical theorem is better than what the accountant proves nobody can beat, for
// any kind of mechanism.
func TestTheoremsOfExamples(t *testing.T) {
	comments, err := readComments(filepath.Join(root, "gen/accountant/v1/mechanism.pb.go"))
	if err != nil {
		t.Fatal(err)
	}
	proven := 0
	for _, field := range kinds() {
		k, err := describe(root, field, comments)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, count := range []uint32{1, 20} {
			c, err := mechanism.Compose(k.adjacency, []mechanism.Event{{Mechanism: k.mechanism, Count: count}})
			if err != nil {
				t.Errorf("%s: %v", k.Name, err)
				continue
			}
			for _, q := range []accountant.Question{accountant.AtDelta(delta), accountant.AtEpsilon(0.5)} {
				answer, bounds, err := theorem.Compare(c, q)
				if err != nil {
					t.Fatalf("%s: %v", k.Name, err)
				}
				for _, b := range bounds {
					if b.Unsupported != "" {
						continue
					}
					proven++
					if l := answer.EpsilonLower; l != nil && b.Result.Epsilon < *l {
						t.Errorf("%d × %s: ε = %v by %s, at least %v", count, k.Name, b.Result.Epsilon, b.Name, *l)
					}
					if l := answer.LogDeltaLower; l != nil && b.LogDelta < *l {
						t.Errorf("%d × %s: ln δ = %v by %s, at least %v", count, k.Name, b.LogDelta, b.Name, *l)
					}
				}
			}
		}
	}
	if proven < 10*len(kinds()) {
		t.Errorf("%d bounds of %d kinds", proven, len(kinds()))
	}
}
