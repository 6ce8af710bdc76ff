// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

func named(names ...string) *pb.LedgerSet { return &pb.LedgerSet{Ledgers: names} }

func ranged(prefix, first, last string) *pb.LedgerSet {
	return &pb.LedgerSet{Range: &pb.LedgerRange{Prefix: prefix, First: first, Last: last}}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  *pb.LedgerSet
		want Members
	}{
		{named("a"), Members{Names: []string{"a"}}},
		{named("b/2", "a", "b"), Members{Names: []string{"a", "b", "b/2"}}},
		{ranged("days/", "", ""), Members{Range: &ledger.NameRange{Prefix: "days/"}}},
		{ranged("days/", "01", "03"), Members{Range: &ledger.NameRange{Prefix: "days/", First: "01", Last: "03"}}},
		{ranged("days/", "03", "03"), Members{Range: &ledger.NameRange{Prefix: "days/", First: "03", Last: "03"}}},
	} {
		if got, err := ToMembers("set", c.set); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, %v; want %+v", c.set, got, err, c.want)
		}
	}
	thousand := make([]string, ledger.MaxMembers)
	for i := range thousand {
		thousand[i] = fmt.Sprintf("l%d", i)
	}
	if _, err := ToMembers("set", named(thousand...)); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		set  *pb.LedgerSet
		want string
	}{
		{nil, "set: missing; allowed: exactly one of ledgers, range, with at least one ledger"},
		{named(), "set: missing; allowed: exactly one"},
		{&pb.LedgerSet{Ledgers: []string{"a"}, Range: &pb.LedgerRange{}}, "set: both ledgers and range"},
		{named(append(thousand, "more")...), "set.ledgers: 1001 names; allowed: at most 1000"},
		{named("a", ""), "set.ledgers[1]: missing"},
		{named("a", "B"), `set.ledgers[1]: "B"; allowed: segments`},
		{named("a", "b", "a"), `set.ledgers[2]: "a", for the second time; allowed: each ledger once`},
		{named("dataset:survey"), `set.ledgers[0]: "dataset:survey"; allowed: a ledger that users charge`},
		{named("system:access"), `set.ledgers[0]: "system:access"; allowed: a ledger that users charge`},
		{ranged("", "a", "b"), "set.range.prefix: missing"},
		{ranged("system:", "", ""), `set.range.prefix: "system:"; allowed`},
		{ranged("d/", "1:", ""), `set.range.first: "d/1:"; allowed`},
		{ranged("d/", "", "\xff"), `set.range.last: "d/\xff"; allowed`},
		{ranged("d/", "30", "01"), `set.range.last: "01", which comes before "30", the first name; allowed`},
	} {
		if _, err := ToMembers("set", c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %q", c.set, err, c.want)
		}
	}
}
