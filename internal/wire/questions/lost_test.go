// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"slices"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// What is said of several ledgers names those that it is about.
func TestSeveralLedgersNameTheirLosses(t *testing.T) {
	t.Parallel()
	restored, loss := ledger.Assumption{Position: 1, Kind: "restored"}, ledger.Assumption{Position: 2, Kind: "loss"}
	var none, u Uncounted
	none.Add("whole", nil)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		u.Add(name, []ledger.Assumption{restored})
	}
	u.Add("h", []ledger.Assumption{restored, loss})
	u.AddRow(&pb.OverviewRow{Name: "i", Flags: []string{"restored", "loss accepted"}})
	u.AddRow(&pb.OverviewRow{Name: "j", Flags: []string{"restored"}}) // and reconciled
	want := []string{
		"Not counted: charges to h, i that a restore from a backup lost, a loss that was accepted. The true cost may " +
			"be larger than any number here.",
		"Not counted: what was charged to a, b, c, d, e and 2 more of these after the backup that was restored. " +
			"Nobody has said yet what that was, so the true cost may be larger than any number here.",
	}
	if got := u.Notes(); !slices.Equal(got, want) || none.Notes() != nil {
		t.Errorf("%q and %q; want %q and none", got, none.Notes(), want)
	}
	one := Answered{On: Standing{Lost: u}}
	set := FromSetAnswer(accountant.AtDelta(1e-6), SetAnswer{All: one, One: &one})
	if !slices.Equal(set.GetInAll().GetWarnings(), want) || !slices.Equal(set.GetInOne().GetWarnings(), want) {
		t.Errorf("of a set: %v", set)
	}
}

// After a restore every answer begins with what it does not count, until somebody has said what that was.
func TestAnswersBeginWithWhatWasLost(t *testing.T) {
	t.Parallel()
	as := func(kinds ...string) (list []ledger.Assumption) {
		for i, kind := range kinds {
			list = append(list, ledger.Assumption{Position: uint64(i + 1), Kind: kind})
		}
		return list
	}
	const open = "Not counted: what was charged after the backup that entry "
	const accepted = "Not counted: charges that a restore"
	for _, c := range []struct {
		list []ledger.Assumption
		want []string
	}{
		{as("refund"), nil},
		{as("restored"), []string{open + "1 "}},
		{as("restored", "reconciled"), nil},
		{as("restored", "loss"), []string{accepted}},
		{as("restored", "loss", "restored", "reconciled"), []string{accepted}},
		{as("restored", "reconciled", "restored"), []string{open + "3 "}},
	} {
		on := Standing{Assumptions: c.list}
		q := accountant.AtDelta(1e-6)
		statement := FromStatement(Statement{View: ledger.View{Balance: ledger.Balance{Assumptions: c.list}}})
		for what, got := range map[string][]string{
			"query":     FromAnswer(q, accountant.Answer{}, on).GetWarnings(),
			"curve":     FromCurve(accountant.Curve{}, on).GetWarnings(),
			"statement": {statement.GetSummary()},
		} {
			for i, want := range c.want {
				if i >= len(got) || !strings.HasPrefix(got[i], want) {
					t.Errorf("%s: %q; want it to begin with %q", what, got, want)
				}
			}
			if c.want == nil && len(got) > 0 && strings.HasPrefix(got[0], "Not counted") {
				t.Errorf("%s: %q; want nothing that was lost", what, got)
			}
		}
	}
}
