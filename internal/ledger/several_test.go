// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

func TestAgree(t *testing.T) {
	t.Parallel()
	spec := func(name string, adj mechanism.Adjacency, unit string) Spec {
		return Spec{Name: name, Adjacency: adj, PrivacyUnit: unit}
	}
	a, b := spec("a", mechanism.AddOrRemoveOne, "user"), spec("b", mechanism.AddOrRemoveOne, "user")
	if err := Agree([]Spec{a}); err != nil {
		t.Error(err)
	}
	if err := Agree([]Spec{a, b, a}); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		other Spec
		wants []string
	}{
		{spec("c", mechanism.ReplaceOne, "user"), []string{"adjacency: ", " in ledger a, but ", " in ledger c"}},
		{spec("c", mechanism.AddOrRemoveOne, "household"),
			[]string{`privacy_unit: "user" in ledger a, but "household" in ledger c`}},
		{spec("c", mechanism.AddOrRemoveOne, ""), []string{`"user" in ledger a, but "" in ledger c`}},
	} {
		err := Agree([]Spec{a, b, c.other})
		if !errors.Is(err, ErrSet) {
			t.Fatalf("%+v: %v", c.other, err)
		}
		for _, want := range c.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q in it", err, want)
			}
		}
	}
}

func view(name, parent, guarantee string, count uint64) View {
	v := View{Parent: parent, Guarantee: guarantee}
	v.Genesis.Spec.Name = name
	v.Charged.Parts = []mechanism.Part{{Mechanism: mechanism.PureDP{Epsilon: 0.1}, Count: count}}
	return v
}

// What a child may spend is counted in its parent.
func TestApart(t *testing.T) {
	t.Parallel()
	views := []View{view("p/c", "p", "plan", 3), view("p", "dataset:d", "filter", 5), view("q", "", "plan", 7),
		view("r/c", "r", "plan", 11)}
	var names []string
	for _, v := range Apart(views) {
		names = append(names, v.Genesis.Spec.Name)
	}
	if want := []string{"p", "q", "r/c"}; !reflect.DeepEqual(names, want) {
		t.Errorf("%v; want %v", names, want)
	}
}

func TestGuarantee(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   string
		want string
	}{
		{"plan", "plan"}, {"plan plan", "plan"}, {"plan filter", "filter"}, {"filter filter", "filter"},
		{"plan descriptive filter", "descriptive"},
	} {
		var views []View
		for _, g := range strings.Fields(c.of) {
			views = append(views, view("l", "", g, 1))
		}
		if got := WeakestGuarantee(views); got != c.want {
			t.Errorf("%s: %s; want %s", c.of, got, c.want)
		}
	}
}
