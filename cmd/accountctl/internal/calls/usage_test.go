// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"fmt"
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// A line of use declares arguments and flags: those outside brackets are needed, and the word behind a flag is what its
// value is called.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		use                 string
		arguments, optional []string
		flags               string
		needs               []string
	}{
		{"refund NAME --position POSITION --nothing-released [--propose]", []string{"NAME"}, nil,
			"[{position POSITION true} {nothing-released  true} {propose  false}]",
			[]string{"position", "nothing-released"}},
		{"acknowledge NAME WARNING --reason REASON", []string{"NAME", "WARNING"}, nil,
			"[{reason REASON true}]", []string{"reason"}},
		{"list [NAME]", nil, []string{"NAME"}, "[]", nil},
		{"show [--deep] NAME", []string{"NAME"}, nil, "[{deep  false}]", nil},
		{"take (NAME | --of GROUP [--prefix TEXT]) [--label KEY=VALUE …]", nil, []string{"NAME"},
			"[{of GROUP false} {prefix TEXT false} {label KEY=VALUE false}]", nil},
	} {
		u := usageOf(&cobra.Command{Use: c.use})
		if !slices.Equal(u.arguments, c.arguments) || !slices.Equal(u.optional, c.optional) ||
			fmt.Sprint(u.flags) != c.flags || !slices.Equal(u.needs(), c.needs) {
			t.Errorf("%s: %+v", c.use, u)
		}
	}
}

// Flags and arguments set the fields of their names. A list may be called as one of its elements is.
func TestFieldsAreFilled(t *testing.T) {
	m := &accountantv1.AmendDataset{}
	c := &cobra.Command{Use: "amend ID [--title TITLE] [--owner OWNER …] [--label KEY=VALUE …] [--budget BUDGET …] " +
		"[--confirm] --reason REASON [--add-version VERSION]"}
	version := c.Flags().String("add-version", "", "by hand: the field is a message")
	AddFlags(c, m)
	if err := c.ParseFlags([]string{"--title", "", "--owner", "ann", "--owner", "ben, jr.", "--label", "a=b=c",
		"--budget", "epsilon=1,guard=basic", "--confirm", "--reason", "why", "--add-version", "2"}); err != nil {
		t.Fatal(err)
	}
	want := &accountantv1.AmendDataset{}
	if err := prototext.Unmarshal([]byte(`title: "" owners: ["ann", "ben, jr."] labels: {key: "a" value: "b=c"}
		budgets: {epsilon: 1 guard: BASIC} confirm: true reason: "why"`), want); err != nil {
		t.Fatal(err)
	}
	if prototext.Format(m) != prototext.Format(want) || *version != "2" {
		t.Errorf("%v, %s; want %v", m, *version, want)
	}
	if err := c.ParseFlags([]string{"--label", "a=d"}); err == nil {
		t.Error("a label is given twice, and nobody says so")
	}
	ask := &accountantv1.GetLedgerRequest{}
	if err := usageOf(&cobra.Command{Use: "show NAME"}).fill(ask, []string{"x"}); err != nil || ask.GetName() != "x" {
		t.Error(ask, err)
	}
	if got := usageOf(&cobra.Command{Use: "amend ID"}).ledger("x"); got != "dataset:x" {
		t.Error(got)
	}
}

// What the method's options say is in the help and in the flags: two people may have to agree to a refund, and without
// an access policy only the owner may make it. Neither is so of closing a ledger.
func TestOptionsAreTold(t *testing.T) {
	for _, c := range []struct {
		write Write
		two   bool
	}{{Write{Action: &accountantv1.Refund{}}, true}, {Write{Action: &accountantv1.Close{}}, false}} {
		made := c.write.Command(&cli.Program{}, &cobra.Command{Use: "x NAME", Long: "About it."})
		long := "About it.\n\n" + requestIDHelp
		if c.two {
			long = "About it.\n\n" + OwnSocketHelp + "\n\n" + requestIDHelp
		}
		if made.Long != long || (made.Flags().Lookup("propose") != nil) != c.two {
			t.Errorf("%T: %q", c.write.Action, made.Long)
		}
	}
	proposed := proposal(&accountantv1.Refund{Position: 7})
	if proposed.GetRefund().GetPosition() != 7 {
		t.Error(proposed)
	}
}
