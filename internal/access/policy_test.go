// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// team is a policy as a small company would write it.
const team = `version: 1
contact: privacy@example.org
people:
  ann: [uid:1000, cn:ann]
  ben: [cn:ben, "oidc:https://id.example.org#ben"]
grants:
  - roles: [administrator, officer]
    to: [person:ann]
    on: [everything]
  - roles: reporter
    to: ["spiffe://example.org/ns/vision/sa/trainer-*", "cn:*.train.example"]
    on: [prefix:vision/, dataset:faces]
    holder: vision-trainers
  - roles: [viewer]
    to: ["group:https://id.example.org#analysts", unverified:board]
    on: [ledger:vision/report]
  - roles: [manager]
    to: [person:ben]
    on: [ledger:survey]
two_people:
  within: 72h
`

func parse(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	t.Parallel()
	p := parse(t, team)
	if p.Contact != "privacy@example.org" || p.ApproveWithin != 72*time.Hour || len(p.Grants) != 4 {
		t.Errorf("got %+v", p)
	}
	var lines []int
	for _, g := range p.Grants {
		lines = append(lines, g.Line)
	}
	if want := []int{7, 10, 14, 17}; !slices.Equal(lines, want) {
		t.Errorf("lines: %v, want %v", lines, want)
	}
	if p.Person("cn:ann") != p.Person("uid:1000") || p.Person("cn:ann") == p.Person("cn:ben") ||
		p.Person("cn:eve") != "cn:eve" {
		t.Error("aliases are not one person, or two people are")
	}
}

// Whatever is not a policy is refused with the line and what is allowed.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	grant := func(text string) string { return "version: 1\ngrants:\n  - " + text + "\n" }
	for _, c := range []struct {
		text string
		line int
		says string
	}{
		{"", 0, "it is empty"},
		{"version: 2\n", 1, `version: "2"; allowed: 1`},
		{"grants: []\n", 1, `version: ""`},
		{"- a\n", 1, "a list; allowed: fields"},
		{"version: 1\ngrant: []\n", 2, `"grant" is no field here; allowed: contact, grants, people, store, two_people, version`},
		{"version: 1\nversion: 1\n", 2, "version is given twice"},
		{"version: 1\n---\nversion: 1\n", 2, "a second document"},
		{"version: 1\ngrants: {a: 1}\n", 2, "grants: fields; allowed: a list of grants"},
		{"version: [1\n", 0, "line 1"},
		{grant("{roles: viewer, to: cn:a, on: everything, over: x}"), 3, `"over" is no field here; allowed: holder, on, roles, to`},
		{grant("{roles: viewer, to: cn:a}"), 3, "the grant has no on"},
		{grant("{roles: [], to: cn:a, on: everything}"), 3, "an empty list"},
		{grant("roles: viewer\n    to: cn:a\n    on:\n      - everything\n      - ledgers:x"), 7, `"ledgers:x"; allowed: ledger:NAME`},
		{grant("{roles: owner, to: cn:a, on: everything}"), 3, `role "owner"; allowed: viewer, reporter`},
		{grant("{roles: viewer, to: '*', on: everything}"), 3, `"*"; allowed: a principal such as`},
		{grant("{roles: viewer, to: 'group:analysts', on: everything}"), 3,
			`stands for nobody; allowed: group:ISSUER#NAME`},
		{grant("{roles: viewer, to: 'oidc:**', on: everything}"), 3, `stands for nobody; allowed: oidc:ISSUER#NAME`},
		{grant("{roles: viewer, to: ann, on: everything}"), 3, `"ann"; allowed: a principal such as`},
		{grant("{roles: viewer, to: 'cn:', on: everything}"), 3, `"cn:"; allowed`},
		{grant("{roles: viewer, to: person:eve, on: everything}"), 3, "person:eve is not in people"},
		{grant("{roles: viewer, to: person:e*, on: everything}"), 3, "the name of one person"},
		{grant("{roles: viewer, to: cn:a, on: prefix:team}"), 3, "a prefix that ends in one of"},
		{grant("{roles: viewer, to: cn:a, on: 'ledger:a*'}"), 3, "a name without stars"},
		{grant("{roles: viewer, to: cn:a, on: everything, holder: x}"), 3, "without the role reporter"},
		{grant("{roles: reporter, to: unverified:a, on: everything, holder: x}"), 3, "whose identity is proven"},
		{grant("{roles: reporter, to: cn:a, on: everything, holder: X Y}"), 3, `holder: "X Y"; allowed: a name`},
		{"version: 1\npeople:\n  a: cn:x\n  b: cn:x\n", 4, "cn:x is a principal of a and of b"},
		{"version: 1\npeople:\n  a: cn:*\n", 3, "without stars"},
		{"version: 1\npeople:\n  a: unverified:x\n", 3, "proven principals"},
		{"version: 1\ntwo_people: {within: 3s}\n", 2, "allowed: whole seconds from 1m to 744h"},
		{"version: 1\ntwo_people: {}\n", 2, "allowed: whole seconds"},
		{"version: 1\nstore: {require_dataset: perhaps}\n", 2, `"perhaps"; allowed: true or false`},
		{"version: 1\nstore: {fair_calls: 0.5}\n", 2, "store.fair_calls: 0.5; allowed: 0, or a number from 1 to 1e9"},
		{"version: 1\nstore: {fair_calls: NaN}\n", 2, "store.fair_calls: NaN; allowed: 0, or"},
		{"version: 1\nstore: {fair_computing: 100ms}\n", 2, "store.fair_computing: 100ms; allowed: 0, or a duration"},
		{"version: 1\nstore: {fair_computing: 20}\n", 2, `"20"; allowed: 0, or a duration`},
		{"version: 1\nstore: {require_tls: true}\n", 2, "is no field here; allowed: fair_calls, fair_computing"},
		{"version: 1\ncontact: &a x\ngrants: *a\n", 3, "an alias"},
	} {
		_, err := Parse([]byte(c.text))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != c.line || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v; want line %d and %q", c.text, err, c.line, c.says)
		}
	}
	if _, err := Parse(make([]byte, MaxBytes+1)); err == nil {
		t.Error("a policy that is too long is taken")
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	p := parse(t, team)
	by := func(principal string, groups ...string) Caller { return Caller{principal, groups} }
	trainer := by("uri:spiffe://example.org/ns/vision/sa/trainer-7")
	for _, c := range []struct {
		who  Caller
		need Role
		on   Target
		line int // of the grant; 0 if it is denied
	}{
		{by("uid:1000"), Administrator, Target{}, 7},
		{by("cn:ann"), Officer, Target{Ledger: "survey"}, 7},
		{by("cn:ann"), Auditor, Target{Ledger: "survey"}, 7},
		{by("cn:ann"), Reporter, Target{Ledger: "survey"}, 0},
		{by("cn:annette"), Officer, Target{Ledger: "survey"}, 0},
		{trainer, Reporter, Target{Ledger: "vision/run-1"}, 10},
		{trainer, Viewer, Target{Ledger: "vision/run-1"}, 10},
		{trainer, Manager, Target{Ledger: "vision/run-1"}, 0},
		{trainer, Reporter, Target{Ledger: "vision2/run-1"}, 0},
		{trainer, Reporter, Target{Ledger: "vision"}, 0},
		{trainer, Reporter, Target{Ledger: "x", Dataset: "faces"}, 10},
		{trainer, Reporter, Target{Dataset: "faces"}, 10},
		{trainer, Reporter, Target{}, 0},
		{trainer, Reporter, Target{Ledger: "child", Parents: []string{"b", "vision/run-1"}}, 10},
		{by("uri:spiffe://example.org/ns/vision/sa/trainer-7/admin"), Reporter, Target{Ledger: "vision/x"}, 0},
		{by("unverified:uri:spiffe://example.org/ns/vision/sa/trainer-7"), Reporter, Target{Ledger: "vision/x"}, 0},
		{by("cn:a.train.example"), Reporter, Target{Ledger: "vision/x"}, 10},
		{by("cn:train.example"), Reporter, Target{Ledger: "vision/x"}, 0},
		{by("cn:x", "https://id.example.org#analysts"), Viewer, Target{Ledger: "vision/report"}, 14},
		{by("group:https://id.example.org#analysts"), Viewer, Target{Ledger: "vision/report"}, 0},
		{by("unverified:board"), Viewer, Target{Ledger: "vision/report"}, 14},
		{by("cn:board"), Viewer, Target{Ledger: "vision/report"}, 0},
		{by("oidc:https://id.example.org#ben"), Manager, Target{Ledger: "survey"}, 17},
		{by("oidc:https://id.example.org#ben"), Manager, Target{Ledger: "survey2"}, 0},
		{by("person:ann"), Administrator, Target{}, 0},
		{by(""), Viewer, Target{Ledger: "vision/report"}, 0},
	} {
		d := p.Decide(c.who, c.need, c.on)
		line := 0
		if d.Grant != nil {
			line = d.Grant.Line
		}
		if line != c.line || d.Allowed != (c.line > 0) {
			t.Errorf("%v, %v on %v: line %d, want %d", c.who, c.need, c.on, line, c.line)
		}
	}
	if h := p.Holder(trainer, Target{Ledger: "vision/x"}); h != "vision-trainers" {
		t.Errorf("holder %q", h)
	}
	if h := p.Holder(by("cn:ann"), Target{Ledger: "vision/x"}); h != "" {
		t.Errorf("holder of who is no reporter: %q", h)
	}
	if p.Anywhere(by("cn:nobody"), Viewer).Allowed || !p.Anywhere(trainer, Viewer).Allowed {
		t.Error("Anywhere")
	}
}

// A role has what the roles have that it includes.
func TestIncludes(t *testing.T) {
	t.Parallel()
	for _, r := range Roles() {
		for _, s := range Roles() {
			for _, u := range Roles() {
				if r.Includes(s) && s.Includes(u) && !r.Includes(u) {
					t.Errorf("%v includes %v includes %v", r, s, u)
				}
			}
		}
		if !r.Includes(r) || !r.Includes(Viewer) {
			t.Errorf("%v does not include itself, or viewer", r)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	p, err := Parse([]byte(team))
	if err != nil {
		b.Fatal(err)
	}
	c, t := Caller{Principal: "uri:spiffe://example.org/ns/vision/sa/trainer-7"}, Target{Ledger: "vision/run-1"}
	for b.Loop() {
		if !p.Decide(c, Reporter, t).Allowed {
			b.Fatal("denied")
		}
	}
}

// No text makes Parse panic, and a policy that is taken is read again the same.
func FuzzParse(f *testing.F) {
	f.Add(team)
	f.Add("version: 1\ngrants:\n- {roles: viewer, to: cn:a, on: everything}\n")
	f.Add("version: 1\npeople: {a: [cn:x]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse([]byte(text))
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("%v", err)
			}
			return
		}
		p.Decide(Caller{Principal: text}, Reporter, Target{Ledger: text})
	})
}
