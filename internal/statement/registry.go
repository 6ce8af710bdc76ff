// SPDX-License-Identifier: Apache-2.0

package statement

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/plain"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// onlyPeople are the fields that the registry requires and no ledger knows, with what they say.
var onlyPeople = [][2]string{
	{"url_slug", "a short name for the record's address"},
	{"deployment.basic.name", "the name of what was published"},
	{"deployment.basic.data_curators", "a list of who publishes it"},
	{"deployment.basic.description", "what was published"},
	{"deployment.basic.intended_use", "what it is for"},
	{"deployment.basic.data_product_type", "such as Machine learning model or Summary statistics"},
	{"deployment.basic.data_product_region", "which region the data describe"},
	{"deployment.basic.publication_date", "YYYY-MM-DD"},
	{"deployment.administrative.registry_authors", "a list of who wrote this record"},
}

// Registry is a record of a statement for the registry of deployments that OpenDP keeps
// (github.com/opendp/deployments-registry-data, schema of 2026-07-15), as YAML. people is a YAML file of the same shape
// with what no ledger knows; what the ledger knows is filled in, at the δ that is given, with ε rounded up. A text of
// people's stands before the ledger's; a number that they give is an error, as is a required field that is missing.
func Registry(s *accountantv1.Statement, delta float64, people []byte) (string, error) {
	record, err := peoples(people)
	if err != nil {
		return "", err
	}
	stated, err := at(s, delta)
	if err != nil {
		return "", err
	}
	if s.GetLedger().GetNeedsReconciling() {
		return "", errors.New("the ledger has lost entries, so its numbers say too little; allowed: after ledger " +
			"reconcile")
	}
	for _, n := range decided(s, stated) {
		if _, has := find(record, n.path); has {
			return "", fmt.Errorf("%s: the ledger says it; leave it out", n.path)
		}
		if err := put(record, n.path, n.value); err != nil {
			return "", err
		}
	}
	for _, t := range ours(s, stated) {
		if had, has := find(record, t[0]); has {
			t[1] = strings.TrimRight(had.Value, "\n") + "\n\n" + t[1]
		}
		if err := put(record, t[0], text(t[1])); err != nil {
			return "", err
		}
	}
	for _, d := range []struct {
		path  string
		value *yaml.Node
	}{{"status", text("Draft")}, {"tier", number("2")}} {
		if _, has := find(record, d.path); !has {
			if err := put(record, d.path, d.value); err != nil {
				return "", err
			}
		}
	}
	var missing []string
	for _, f := range onlyPeople {
		if n, has := find(record, f[0]); !has || n.Kind == yaml.ScalarNode && n.Value == "" {
			missing = append(missing, fmt.Sprintf("%s (%s)", f[0], f[1]))
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("the registry requires what the ledger does not know: %s", strings.Join(missing, ", "))
	}
	var out strings.Builder
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(record); err != nil {
		return "", err
	}
	return out.String(), e.Close()
}

// decision is a field that the ledger alone decides.
type decision struct {
	path  string
	value *yaml.Node // nil: the record does not have it
}

func decided(s *accountantv1.Statement, stated *accountantv1.StatedPrivacy) []decision {
	const parameters = "deployment.privacy_loss.privacy_parameters."
	epsilon, _ := strconv.ParseFloat(num.FormatUp(stated.GetEpsilon(), spelling.Digits), 64)
	unit := s.GetLedger().GetSpec().GetPrivacyUnit()
	if unit == "" {
		unit = "record"
	}
	return []decision{
		{"deployment.dp_variant.variant_name", text("Approximate DP")},
		{"deployment.privacy_loss.privacy_unit", text(plain.Text(unit))},
		{parameters + "epsilon", number(strconv.FormatFloat(epsilon, 'f', -1, 64))},
		{parameters + "delta", number(strconv.FormatFloat(stated.GetDelta(), 'f', -1, 64))},
		{parameters + "rho", nil},
	}
}

// ours are the texts that a ledger can say, by their fields.
func ours(s *accountantv1.Statement, stated *accountantv1.StatedPrivacy) [][2]string {
	l, spec := s.GetLedger(), s.GetLedger().GetSpec()
	var mechanisms strings.Builder
	for _, m := range s.GetMechanisms() {
		fmt.Fprintf(&mechanisms, "- %d × %s\n", m.GetCount(), plain.Text(spelling.Mechanism(m.GetMechanism())))
	}
	if n := s.GetMechanismsOmitted(); n > 0 {
		fmt.Fprintf(&mechanisms, "- and %d more, of which the numbers are, too\n", n)
	}
	details := plain.Text(s.GetSummary())
	if stated.EpsilonLower != nil {
		details += fmt.Sprintf("\n\nNo accountant can prove less than ε = %s from the same facts.",
			num.FormatDown(stated.GetEpsilonLower(), spelling.Digits))
	}
	for _, a := range s.GetAssumptions() {
		details += "\n- It rests on this: " + plain.Text(a)
	}
	return [][2]string{
		{"deployment.privacy_loss.privacy_unit_details",
			"Neighbouring datasets: " + spelling.Adjacency(spec.GetAdjacency()) + "."},
		{"deployment.privacy_loss.privacy_parameters_details", details},
		{"deployment.accounting.composition", "Every release is an entry of one ledger, and the bound is of their " +
			"adaptive composition by " + plain.Text(stated.GetAnalysis()) + ". The guarantee is " +
			s.GetGuarantee() + ": " +
			spelling.Guarantees[s.GetGuarantee()] + "."},
		{"deployment.implementation.mechanisms", strings.TrimSuffix(mechanisms.String(), "\n")},
		{"deployment.administrative.notes", fmt.Sprintf("Made from ledger %s at its entry %d, whose hash is %x, by "+
			"the privacy accountant %s on %s.", plain.Text(l.GetName()), l.GetPosition(), l.GetHeadHash(),
			s.GetVersion(), s.GetTime().AsTime().Format("2006-01-02"))},
	}
}

// Delta is the δ of a statement's summary; without one the first at which a finite ε is stated, or the first of all.
func Delta(s *accountantv1.Statement) float64 {
	if len(s.GetGroups()) > 0 {
		return s.GetGroups()[0].GetDelta()
	}
	for _, p := range s.GetPrivacy() {
		if !math.IsInf(p.GetEpsilon(), 1) {
			return p.GetDelta()
		}
	}
	if len(s.GetPrivacy()) > 0 {
		return s.GetPrivacy()[0].GetDelta()
	}
	return 0
}

// at is what the statement says at a δ.
func at(s *accountantv1.Statement, delta float64) (*accountantv1.StatedPrivacy, error) {
	for _, p := range s.GetPrivacy() {
		if p.GetDelta() != delta {
			continue
		}
		if math.IsInf(p.GetEpsilon(), 1) {
			return nil, fmt.Errorf("at δ = %s no finite ε is known, so there is nothing to register; allowed: a "+
				"larger δ", spelling.Exact(delta))
		}
		return p, nil
	}
	return nil, fmt.Errorf("the statement has no ε at δ = %s", spelling.Exact(delta))
}

// peoples reads the file of people: one mapping. Dates become texts, as the registry wants them.
func peoples(file []byte) (*yaml.Node, error) {
	var document yaml.Node
	d := yaml.NewDecoder(strings.NewReader(string(file)))
	if err := d.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	record := &yaml.Node{Kind: yaml.MappingNode}
	if len(document.Content) == 1 {
		record = document.Content[0]
	}
	if record.Kind != yaml.MappingNode {
		return nil, errors.New("the file has no fields at its top; allowed: the registry's, such as url_slug and " +
			"deployment")
	}
	return record, plainOnly(record)
}

// plainOnly refuses what YAML has beyond texts, numbers, lists and mappings, and writes dates as texts.
func plainOnly(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return fmt.Errorf("line %d: an alias or anchor; allowed: plain fields", n.Line)
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!timestamp" {
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	}
	if n.Kind == yaml.ScalarNode && n.Style == yaml.FoldedStyle {
		n.Style = 0 // which the registry refuses
	}
	seen := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[child.Value] {
				return fmt.Errorf("line %d: %s is given twice", child.Line, child.Value)
			}
			seen[child.Value] = true
		}
		if err := plainOnly(child); err != nil {
			return err
		}
	}
	return nil
}

// find is the value at a path of fields.
func find(n *yaml.Node, path string) (*yaml.Node, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != name {
			continue
		}
		if deeper {
			return find(n.Content[i+1], rest)
		}
		return n.Content[i+1], true
	}
	return nil, false
}

// put sets the value at a path of fields, and makes those that are missing.
func put(n *yaml.Node, path string, value *yaml.Node) error {
	if value == nil {
		return nil
	}
	name, rest, deeper := strings.Cut(path, ".")
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %q is no set of fields, and %s belongs into it", n.Line, n.Value, name)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != name {
			continue
		}
		if deeper {
			return put(n.Content[i+1], rest, value)
		}
		n.Content[i+1] = value
		return nil
	}
	if deeper {
		below := &yaml.Node{Kind: yaml.MappingNode}
		if err := put(below, rest, value); err != nil {
			return err
		}
		value = below
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, value)
	return nil
}

func number(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// text is a text, over several lines if it has some.
func text(value string) *yaml.Node {
	style := yaml.DoubleQuotedStyle
	if strings.Contains(value, "\n") {
		style = yaml.LiteralStyle
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: style}
}
