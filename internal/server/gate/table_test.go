// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/wire"
)

var update = flag.Bool("update", false, "write the table of docs/access.md anew")

// Every method of the API says in its declaration who may call it, and no two methods have the same name.
func TestEveryMethodHasARule(t *testing.T) {
	t.Parallel()
	names := map[protoreflect.Name]bool{}
	for m := range api.Methods() {
		if _, ok := ruleOf(m); !ok {
			t.Errorf("%s does not say who may call it: give it the option access with a role and a scope", m.FullName())
		}
		if names[m.Name()] {
			t.Errorf("two methods are called %s", m.Name())
		}
		names[m.Name()] = true
	}
}

// The roles of the API are those of policies.
func TestRoles(t *testing.T) {
	t.Parallel()
	names := pb.Access_ROLE_UNSPECIFIED.Descriptor().Values()
	if names.Len() != len(access.Roles())+1 {
		t.Fatalf("%d roles of the API for %d of policies", names.Len()-1, len(access.Roles()))
	}
	for i, role := range access.Roles() {
		if name := strings.ToLower(string(names.Get(i + 1).Name())); name != role.String() {
			t.Errorf("role %d of the API is %s, that of policies %s", i+1, name, role)
		}
	}
}

// The table of docs/access.md is what the methods say.
func TestTableOfMethods(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "docs", "access.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), "\n| method |")
	_, after, found := strings.Cut(rest, "|\n\n")
	if want := before + "\n" + table() + "\n" + after; !found || string(page) != want {
		if !*update {
			t.Fatal("the table of methods in docs/access.md is stale: make docs")
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The ledger of a report that is not decoded is the one that the decoded report has, and it only checks if
// the decoded one does.
func TestReportedAgreesWithProtobuf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		for range rapid.IntRange(0, 3).Draw(t, "lanes") {
			b = protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), drawnLane(t))
		}
		if rapid.Bool().Draw(t, "cut") && len(b) > 0 {
			b = b[:rapid.IntRange(0, len(b)-1).Draw(t, "at")]
		}
		var m pb.ReportRequest
		if err := proto.Unmarshal(b, &m); err != nil {
			return // whatever the gate says, the report is refused as malformed
		}
		if several := m.GetLane().GetLedgers() != nil; several != wire.NamesLedgers(b) {
			t.Errorf("%x: several ledgers: %v", b, several)
		} else if several { // the gate gets these decoded; it would let nobody pass who does not have every ledger
			if got := reported(b); got.ledger != "" || got.checks || got.kind != onLedger {
				t.Errorf("%x: %+v", b, got)
			}
			return
		}
		if got := reported(b).ledger; got != m.GetLane().GetLedger() {
			t.Errorf("%x: %q, want %q", b, got, m.GetLane().GetLedger())
		}
		if got := reported(b).checks; got != m.GetLane().GetCheckOnly() || named(&m).checks != got {
			t.Errorf("%x: it only checks: %v, want %v", b, got, m.GetLane().GetCheckOnly())
		}
	})
}

// drawnLane draws the bytes of a lane, with fields in any order and some of them several times.
func drawnLane(t *rapid.T) (b []byte) {
	for range rapid.IntRange(0, 4).Draw(t, "fields") {
		switch n := protowire.Number(rapid.SampledFrom([]int{1, 2, 3, 5, 6}).Draw(t, "number")); n {
		case 3, 5:
			value := rapid.SampledFrom([]uint64{0, 1, 7}).Draw(t, "value")
			b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), value)
		case 6:
			set := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "b")
			if rapid.Bool().Draw(t, "unnamed") {
				set = nil
			}
			b = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), set)
		default:
			text := rapid.StringN(0, 5, -1).Draw(t, "text")
			b = protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), text)
		}
	}
	return b
}

// Over HTTP, where nothing proves who calls, a report may check what would be taken, and nothing else may be
// asked of those who write.
func TestOnlyChecks(t *testing.T) {
	t.Parallel()
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, only := range []bool{false, true} {
		for _, check := range []bool{false, true} {
			r := &pb.ReportRequest{Lane: &pb.Lane{Ledger: "a", CheckOnly: check}}
			encoded, err := proto.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, request := range []any{r, encoded} {
				_, err := g.Enter("/accountant.v1.Charges/Report", Identity{OnlyReads: only}, request)
				if passes := !only || check; passes != (err == nil) {
					t.Errorf("only reads %v, checks %v, %T: %v", only, check, request, err)
				}
			}
		}
	}
	if _, err := g.Enter("/accountant.v1.Charges/Reserve", Identity{OnlyReads: true},
		&pb.ReserveRequest{Lane: &pb.Lane{Ledger: "a"}}); err == nil {
		t.Error("a reservation passes")
	}
}

// Whatever writes in lanes is about the ledger of its lane, also what is written later than this test.
func TestLanesAreRead(t *testing.T) {
	t.Parallel()
	lanes := 0
	for m := range api.Methods() {
		lane := m.Input().Fields().ByName("lane")
		if lane == nil {
			continue
		}
		lanes++
		r := api.NewRequest(m).ProtoReflect()
		r.Set(lane, protoreflect.ValueOfMessage((&pb.Lane{Ledger: "team/a"}).ProtoReflect()))
		rule, _ := ruleOf(m)
		s := rule.about(r.Interface())
		if api.Access(m).GetScope() == pb.Access_EVERYTHING {
			if s.kind != onWhole {
				t.Errorf("%s is not about everything", m.Name())
			}
		} else if s.kind != onLedger || s.ledger != "team/a" {
			t.Errorf("%s is not about its lane's ledger, but about %+v", m.Name(), s)
		}
	}
	if lanes < 14 {
		t.Errorf("%d methods have lanes", lanes)
	}
}

// Without a rule nothing passes.
func TestNoRule(t *testing.T) {
	t.Parallel()
	g, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []bool{false, true} {
		if _, err := g.Enter("/accountant.v1.Ledgers/NewMethod", Identity{Owner: owner}, nil); err == nil {
			t.Error("a method without a rule passes")
		}
	}
}

// A request that names many ledgers passes only who has the role on every one of them.
func TestEveryNamedLedgerCounts(t *testing.T) {
	t.Parallel()
	g, _ := reloading(t) // uid:1000 is a viewer of team/a/
	for name, c := range map[string]struct {
		more   []string
		passes bool
	}{
		"one":                {nil, true},
		"all in scope":       {[]string{"team/a/y", "team/a/z"}, true},
		"the last is not":    {[]string{"team/a/y", "team/b/x"}, false},
		"the first is not":   {[]string{"team/b/x", "team/a/y"}, false},
		"one has no name":    {[]string{""}, false},
		"one is a dataset's": {[]string{"dataset:x"}, false},
	} {
		p := &Passage{gate: g, who: Identity{Caller: access.Caller{Principal: "uid:1000"}}, method: "GetLedger",
			rule: rules()["/accountant.v1.Ledgers/GetLedger"], subject: subject{kind: onLedger, ledger: "team/a/x",
				more: c.more}}
		if err := p.Check(); (err == nil) != c.passes {
			t.Errorf("%s: %v; want it to pass: %v", name, err, c.passes)
		}
	}
}

var onScope = map[pb.Access_Scope]string{
	pb.Access_LEDGERS:             "the ledger",
	pb.Access_LEDGERS_OR_WORKLOAD: "the ledger; any for a workload",
	pb.Access_NEW_LEDGER:          "the name of the new ledger, its parent and its dataset",
	pb.Access_SHOWN:               "any; shows the ledgers, or the datasets, on which the caller has the role",
	pb.Access_EVERYTHING:          "everything",
	pb.Access_ONESELF:             "anybody about themselves; about others auditors of everything",
}

// table is the table of docs/access.md, in Markdown: which roles may call each method, and on what.
func table() string {
	var b strings.Builder
	head, line := "| method |", "|---|"
	for _, role := range access.Roles() {
		head += " " + role.String() + " |"
		line += "---|"
	}
	_, _ = fmt.Fprintf(&b, "%s on |\n%s---|\n", head, line)
	for m := range api.Methods() {
		r, _ := ruleOf(m)
		scope := api.Access(m).GetScope()
		_, _ = fmt.Fprintf(&b, "| %s |", m.Name())
		for _, role := range access.Roles() {
			if role.Includes(r.role) || scope == pb.Access_ONESELF {
				_, _ = b.WriteString(" yes |")
			} else {
				_, _ = b.WriteString(" |")
			}
		}
		on := onScope[scope]
		switch fields := m.Input().Fields(); {
		case r.everythingForDatasets() && scope == pb.Access_LEDGERS:
			on += "; everything for a dataset"
		case fields.ByName("set") != nil && r.reads:
			on = "any; the call is refused unless the caller has the role on every ledger that it names, and a range " +
				"has only ledgers on which the caller has it"
		case r.role == access.Reporter && api.Writes(m):
			on = "the ledger, or every one of several"
		}
		_, _ = fmt.Fprintf(&b, " %s |\n", on)
	}
	return b.String()
}
