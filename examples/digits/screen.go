// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/num"
)

// screen is what the run shows, line by line.
type screen struct {
	out   io.Writer
	steps int
}

func (s *screen) start(o options, set settings) {
	s.steps = set.steps
	fmt.Fprintf(s.out, "\nDP-SGD on handwritten digits, every step in the ledger %q\n", o.ledger)
	batches := fmt.Sprintf("sampling probability %g", set.samplingProbability)
	if set.epochSteps != 0 {
		batches = fmt.Sprintf("each image in one of the %d steps of an epoch", set.epochSteps)
	}
	fmt.Fprintf(s.out, "%d steps, %s, noise multiplier %g, clipping norm %g\n", set.steps, batches,
		set.noiseMultiplier, set.clippingNorm)
	if o.seed != 0 {
		fmt.Fprintln(s.out, "NOT PRIVATE: the noise comes from -seed")
	}
	fmt.Fprintln(s.out)
}

// progress writes a line about every fifth of the steps.
func (s *screen) progress(step int, acknowledged uint64) {
	if step%max(1, s.steps/5) == 0 {
		s.say(step, fmt.Sprintf("%d in the ledger", acknowledged))
	}
}

// say writes a line about a step.
func (s *screen) say(step int, what string) {
	fmt.Fprintf(s.out, "  step %*d  %s\n", len(strconv.Itoa(s.steps)), step, what)
}

func (s *screen) accuracy(share float64, of int) {
	fmt.Fprintf(s.out, "\n  test accuracy   %.1f %% of %d images\n", 100*share, of)
}

// privacy shows the ledger's total and its ε by every analysis.
func (s *screen) privacy(l *pb.Ledger, answer *pb.QueryPrivacyResponse, set settings) {
	unit := "steps"
	if set.epochSteps != 0 {
		unit = "epochs"
	}
	fmt.Fprintf(s.out, "  ledger          %d %s charged\n", l.GetTotalCount(), unit)
	fmt.Fprintf(s.out, "\n  ε at δ = %g, by analysis\n", delta)
	table := tabwriter.NewWriter(s.out, 0, 0, 3, ' ', 0)
	for _, a := range answer.GetAnalyses() {
		value, note := "–", a.GetUnsupported()
		if a.Epsilon != nil {
			value = up(a.GetEpsilon())
		}
		if a.Order != nil {
			note = fmt.Sprintf("Rényi order %.2f", a.GetOrder())
		}
		if a.GetAnalysis() == answer.GetAnalysis() {
			note = strings.TrimSuffix("◀ the least; "+note, "; ")
		}
		fmt.Fprintf(table, "    %s\t%s\t%s\n", a.GetAnalysis(), value, note)
	}
	table.Flush()
	fmt.Fprintf(s.out, "\n  All of it together is (%s, %g)-differentially private per image",
		up(answer.GetEpsilon()), delta)
	if answer.EpsilonLower != nil && answer.GetEpsilonLower() > 0 {
		fmt.Fprintf(s.out, ";\n  no accountant can prove less than ε = %s", down(answer.GetEpsilonLower()))
	}
	fmt.Fprintln(s.out, ".")
}

// up writes x with six digits, never less than x; down never more.
func up(x float64) string   { return num.FormatUp(x, 6) }
func down(x float64) string { return num.FormatDown(x, 6) }
