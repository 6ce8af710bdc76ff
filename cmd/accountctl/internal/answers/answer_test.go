// SPDX-License-Identifier: Apache-2.0

package answers

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// What was spent comes first, then what is guaranteed, or what counts because it is reserved. ε is
// rounded up, and no line is wider than asked for.
func TestWriteLedger(t *testing.T) {
	for _, c := range []struct {
		guarantee string
		running   float64
		want      []string // the first lines
	}{
		{"descriptive", 2.001, []string{"Spent so far: ε ≤ 2.01 at δ = 1e-05. This holds if the",
			"parameters and the number of steps were fixed before", "any result was seen.", ""}},
		{"descriptive", 1, []string{"Spent so far: ε ≤ 1.00 at δ = 1e-05. This holds if the",
			"parameters and the number of steps were fixed before", "any result was seen.",
			"With what is reserved: ε ≤ 2.01 at δ = 1e-05.", ""}},
		{"plan", 1, []string{"Spent so far: ε ≤ 1.00 at δ = 1e-05. This holds if the",
			"parameters and the number of steps were fixed before", "any result was seen.",
			"Guaranteed: ε ≤ 2.01 at δ = 1e-05. This holds for the", "whole plan, in any order and wherever it " +
				"stops.", ""}},
	} {
		var out bytes.Buffer
		p := cli.NewProgram(func(name string) string { return map[string]string{"COLUMNS": "55"}[name] }, nil, &out,
			nil)
		err := WriteLedger(p, &accountantv1.QueryPrivacyResponse{Epsilon: proto.Float64(2.001),
			Delta:     proto.Float64(1e-5),
			Guarantee: c.guarantee, Running: &c.running}, true, false)
		if err != nil || p.Out.Flush() != nil {
			t.Fatal(err)
		}
		if want := strings.Join(c.want, "\n"); !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.guarantee, out.String(), want)
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 55 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}
