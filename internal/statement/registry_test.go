// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

const people = `url_slug: digits
deployment:
  basic:
    name: Digits
    data_curators: [Example Org]
    description: A model of digits.
    intended_use: To show how.
    data_product_type: Machine learning model
    data_product_region: Everywhere
    publication_date: 2026-11-28
  privacy_loss:
    privacy_unit_details: Each user has one row.
  administrative:
    registry_authors: [Ann]
`

// registrySchema is the registry's own.
func registrySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/registry-schema.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", value(t, string(text))); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// value is a YAML document as JSON's values.
func value(t *testing.T, text string) any {
	t.Helper()
	var read any
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func stated() *accountantv1.Statement {
	lower, half := 2.70056, 0.5
	return &accountantv1.Statement{
		Ledger: &accountantv1.Ledger{Name: "team/mnist", Position: 7, HeadHash: []byte{1, 2},
			Spec: &accountantv1.LedgerSpec{PrivacyUnit: "user", Adjacency: accountantv1.Workload_ADD_OR_REMOVE_ONE}},
		Guarantee: "plan", Summary: "All is private.\n```: {evil: yes}", Version: "v1.0.0",
		Assumptions: []string{"Noise is ideal."},
		Groups:      []*accountantv1.GroupPrivacy{{Size: 2, Delta: 1e-6}},
		Privacy: []*accountantv1.StatedPrivacy{
			{Delta: 1e-5, Epsilon: 2.3, Analysis: "pld"},
			{Delta: 1e-6, Epsilon: 2.700561234, EpsilonLower: &lower, Analysis: "pld"}},
		Mechanisms: []*accountantv1.MechanismCount{{Count: 3, Mechanism: &accountantv1.Mechanism{
			Kind: &accountantv1.Mechanism_PureDp{PureDp: &accountantv1.PureDp{Epsilon: &half}}}}},
	}
}

// A record is what the registry takes, has the ledger's numbers rounded up, and keeps what people said.
func TestRegistry(t *testing.T) {
	schema, s := registrySchema(t), stated()
	record, err := Registry(s, Delta(s), []byte(people))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value(t, record)); err != nil {
		t.Errorf("the registry does not take it: %v\n%s", err, record)
	}
	for _, want := range []string{"epsilon: 2.70057\n", "delta: 0.000001\n", `privacy_unit: "user"`,
		"Each user has one row.\n", "add-or-remove-one", "- 3 × pure", "entry 7, whose hash is 0102",
		`publication_date: "2026-11-28"`, "Noise is ideal"} {
		if !strings.Contains(record, want) {
			t.Errorf("without %q:\n%s", want, record)
		}
	}
	if record, err = Registry(s, 1e-5, []byte(people)); err != nil || !strings.Contains(record, "epsilon: 2.3\n") {
		t.Errorf("at δ = 1e-5: %v\n%s", err, record)
	}
}

// What cannot be registered is refused with the reason.
func TestRegistryRefuses(t *testing.T) {
	lost, endless := stated(), stated()
	lost.Ledger.NeedsReconciling = true
	endless.Privacy[1].Epsilon = math.Inf(1)
	for _, c := range []struct {
		what   string
		of     *accountantv1.Statement
		people string
		want   string
	}{
		{"nothing of people", stated(), "", "url_slug (a short name"},
		{"a required field is empty", stated(), strings.Replace(people, "Digits", `""`, 1), "deployment.basic.name"},
		{"a variant of theirs", stated(), people + "  dp_variant: {variant_name: Pure DP}\n",
			"deployment.dp_variant.variant_name: the ledger"},
		{"a ρ of theirs", stated(), strings.Replace(people, "  privacy_loss:\n",
			"  privacy_loss:\n    privacy_parameters: {rho: 0.1}\n", 1), "privacy_parameters.rho: the ledger"},
		{"a text in place of fields", stated(), "deployment: none", "no set of fields"},
		{"a list at the top", stated(), "[1]", "no fields at its top"},
		{"no YAML", stated(), "a: [", "yaml"},
		{"an alias", stated(), "a: &x 1\nb: *x", "alias or anchor"},
		{"a field twice", stated(), "tier: 2\ntier: 3", "given twice"},
		{"lost entries", lost, people, "reconcile"},
		{"no finite ε", endless, people, "no finite ε"},
		{"another δ", &accountantv1.Statement{}, people, "no ε at δ"},
	} {
		if record, err := Registry(c.of, 1e-6, []byte(c.people)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %q; want an error with %q", c.what, err, record, c.want)
		}
	}
}
