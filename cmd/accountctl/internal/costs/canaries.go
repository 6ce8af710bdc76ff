// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/workloads"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func canaries(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use: "canaries (NAME | MECHANISM flags … | --file FILE) --delta DELTA --guesses N " +
			"(--inserted N --correct N | --scores FILE) [--confidence CONFIDENCE] [--record [--reason REASON]]",
		Short: "Compare what canaries show with what is proven of a run",
		Long: `Compare how often somebody guessed right, from the outputs of one training run, which
canaries the run had seen, with what is proven of the run: what was charged to a ledger,
or mechanisms that the line or a file describes (then no daemon is asked).

A canary is a record that is inserted for the purpose. Before the run a fair coin of its
own decides for each whether it is in the data (under replace-one: which of two records
is; under zero-out: whether it is zeroed). After the run each gets a score from the
outputs, such as its loss with the sign turned, and the guess is that those with the
highest scores were in, and those with the lowest were not. How many are guessed at is
decided before anything is seen.

Three numbers come of it: the ε that the guesses show at least, with the confidence; the ε
that is proven at most; and the ε below which no accountant can prove any. The first must
not be above the second. How unlikely so many right guesses are, if all that is proven
holds, is the p-value. Below 0.001 the training was not what was reported, for example
because gradients were not clipped or noise was left out: then the exit status is 1.

With --record the ledger keeps the facts, with a reason such as which run it was. They
spend nothing. The ledger's statement computes anew what they show of what was charged by
then, and warns if the training was not what was reported.

A file of --scores has a line for each canary: 1 or 0, for in the data or not, a comma,
and the score. Where scores are equal, the guesses count as wrong.`,
		Example: `  accountctl canaries team/mnist --inserted 1000 --guesses 100 --correct 83 --delta 1e-5
  accountctl canaries team/mnist --record --reason "run 7" --inserted 1000 --guesses 100 --correct 83 --delta 1e-5
  accountctl canaries --scores canaries.csv --guesses 100 --delta 1e-5 dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60`,
		ValidArgsFunction: p.CompleteLedger,
	}
	run := &accountantv1.CanaryRun{}
	scores := c.Flags().String("scores", "", "a `FILE` with the canaries and their scores, instead of --inserted and "+
		"--correct; - is standard input")
	calls.AddFlags(c, run)
	source := workloads.AddSource(p, c, "a mechanism, NAME or --file",
		"accountctl canaries --inserted 1000 --guesses 100 --correct 83 --delta 1e-5 %s")
	record := c.Flags().Bool("record", false, "keep this in the ledger NAME, for its statement")
	reason := c.Flags().String("reason", "", "with --record: which run it was; kept in the ledger")
	w := calls.AddWriteFlags(p, c)
	c.RunE = func(c *cobra.Command, args []string) error {
		subject, err := readSubject(source, args)
		if err != nil {
			return err
		}
		needed := []string{"delta", "guesses", "inserted", "correct"}
		if *scores != "" {
			needed = needed[:2]
			for _, name := range []string{"inserted", "correct"} {
				if c.Flags().Changed(name) {
					return cli.Usage(c, "--%s and --scores are both given; allowed: one of them, as the file says it",
						name)
				}
			}
		}
		if err := cli.Needs(c, needed...); err != nil {
			return err
		}
		if *scores != "" {
			data, err := p.ReadFile(c.Context(), *scores)
			if err == nil {
				err = guess(data, run)
			}
			if err != nil {
				return cli.BadFile(cli.FileName(*scores), err)
			}
		}
		if *record {
			if err := observe(w, c, subject, &accountantv1.Observe{Canaries: run, Reason: *reason}); err != nil {
				return err
			}
		}
		answer, err := subject.askCurve(p, c, &accountantv1.QueryPrivacyCurveRequest{Epsilons: []float64{0},
			Canaries: run})
		if err != nil {
			return err
		}
		if w.Output.Value == cli.FormatJSON {
			err = p.WriteJSON(answer)
		} else {
			p.Warn(answer.GetWarnings())
			err = writeCanaries(p, run, answer)
		}
		if err == nil && answer.GetCanaries().GetContradicts() {
			err = errors.New("the training is not what was reported: so many right guesses have a chance of at most " +
				num.FormatUp(answer.GetCanaries().GetPValue(), 3) + ", if what is proven of it holds")
		}
		return err
	}
	return c
}

// observe records the run in the ledger that is asked about.
func observe(w *calls.WriteFlags, c *cobra.Command, about *subject, what *accountantv1.Observe) error {
	if about.ledger == "" {
		return cli.Usage(c, "--record needs the NAME of a ledger, which keeps it")
	}
	answer, err := calls.Once(w, c, func(ctx context.Context, daemon *client.Client,
		key string) (*accountantv1.WriteResponse, error) {
		return daemon.WriteOnce(ctx, about.ledger, key, what)
	})
	if err == nil {
		w.Note(fmt.Sprintf("recorded in entry %d of %s", answer.GetReceipt().GetPosition(), about.ledger))
	}
	return err
}

// canary is a line of a file of scores.
type canary struct {
	in    bool
	score float64
}

// guess reads scores and guesses that the canaries with the highest ones were in the data, and those with the lowest
// were not. Of equal scores those are taken first whose guess is wrong: their order in the file may tell the coins.
func guess(data []byte, run *accountantv1.CanaryRun) error {
	all, err := readScores(data)
	if err != nil {
		return err
	}
	run.Inserted = uint32(len(all)) //nolint:gosec // at most MaxCanaries
	guesses := int(run.GetGuesses())
	if guesses > len(all) {
		return fmt.Errorf("%d canaries; allowed: at least as many as --guesses = %d", len(all), guesses)
	}
	count := func(n int, in bool, order func(a, b canary) int) {
		slices.SortFunc(all, func(a, b canary) int {
			wrongFirst := 0
			if a.in != b.in {
				wrongFirst = 1
				if a.in != in {
					wrongFirst = -1
				}
			}
			return cmp.Or(order(a, b), wrongFirst)
		})
		for _, one := range all[:n] {
			if one.in == in {
				run.Correct++
			}
		}
	}
	count((guesses+1)/2, true, func(a, b canary) int { return cmp.Compare(b.score, a.score) })
	count(guesses/2, false, func(a, b canary) int { return cmp.Compare(a.score, b.score) })
	return nil
}

// readScores reads lines such as "1,0.25". A first line that is no such line is taken for the columns' names.
func readScores(data []byte) (all []canary, err error) {
	lines := csv.NewReader(bytes.NewReader(data))
	lines.FieldsPerRecord, lines.TrimLeadingSpace, lines.ReuseRecord = 2, true, true
	for n := 1; ; n++ {
		fields, err := lines.Read()
		switch {
		case errors.Is(err, io.EOF) && len(all) == 0:
			return nil, errors.New("no canaries; allowed: a line for each, such as 1,0.25")
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		case len(all) == accountant.MaxCanaries:
			return nil, fmt.Errorf("more than %d canaries; allowed: at most so many", accountant.MaxCanaries)
		}
		score, bad := strconv.ParseFloat(strings.TrimSpace(fields[1]), 64)
		in := strings.TrimSpace(fields[0])
		if bad != nil && n == 1 {
			continue
		}
		if bad != nil || math.IsNaN(score) || in != "0" && in != "1" {
			return nil, fmt.Errorf("line %d: %q; allowed: 1 or 0, a comma and a number, such as 1,0.25", n,
				strings.Join(fields, ","))
		}
		all = append(all, canary{in == "1", score})
	}
}

// writeCanaries writes what was found for people.
func writeCanaries(p *cli.Program, run *accountantv1.CanaryRun, a *accountantv1.QueryPrivacyCurveResponse) error {
	f := a.GetCanaries()
	sure := "with " + num.FormatDown(100*f.GetConfidence(), 6) + " % confidence"
	t := p.Table()
	t.Row("canaries", fmt.Sprintf("%d of %d guesses are right", run.GetCorrect(), run.GetGuesses()),
		fmt.Sprintf("about %d that were inserted", run.GetInserted()))
	t.Row("observed", "ε ≥ "+num.FormatDown(f.GetEpsilonObserved(), spelling.Digits),
		sure+", at δ = "+spelling.Exact(run.GetDelta()))
	t.Row("", "μ ≥ "+num.FormatDown(f.GetMuObserved(), spelling.Digits), sure+", of Gaussian differential privacy")
	lower := ""
	if f.EpsilonLower != nil {
		lower = spelling.LowerBound + " than " + num.FormatDown(f.GetEpsilonLower(), spelling.Digits)
	}
	t.Row("proven", "ε ≤ "+num.FormatUp(f.GetEpsilon(), spelling.Digits), lower)
	t.Row("p-value", "≤ "+num.FormatUp(f.GetPValue(), 3), "chance of so many right guesses if what is proven holds")
	t.Row("guarantee", spelling.Guarantees[a.GetGuarantee()])
	for _, text := range spelling.Assumptions(a.GetAssumptions()) {
		t.Row("assumes", text)
	}
	t.Row("", "the coins were fair and independent, and how many are guessed at was decided before")
	if a.Position != nil {
		t.Row("position", a.GetPosition())
	}
	return t.Flush()
}
