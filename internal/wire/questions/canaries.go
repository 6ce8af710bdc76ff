// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"fmt"
	"strconv"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/num"
)

// Observed is what canaries showed, with what it says of what is proven.
type Observed struct {
	ledger.Observation
	Finding *accountant.CanaryFinding // nil if there was no time for it
}

// contradicted says that a training was not what was reported, if f does; otherwise it is "".
func contradicted(f *accountant.CanaryFinding, by string) string {
	if f == nil || !f.Contradicts() {
		return ""
	}
	return fmt.Sprintf("The training is not what was reported%s: so many guesses about canaries were right that the "+
		"chance of it is at most %s, if what is proven of the training holds.", by, num.FormatUp(f.PValue, 3))
}

// contradictions are those of a statement's observations.
func contradictions(list []Observed) (out []string) {
	for _, o := range list {
		if text := contradicted(o.Finding, fmt.Sprintf(", as entry %d shows", o.Position)); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// canaries tells each observation, and what the facts show.
func (s Statement) canaries() (points []string) {
	asked := map[mechanism.Adjacency]string{
		mechanism.AddOrRemoveOne: "whether it was in the data",
		mechanism.ReplaceOne:     "which of two records was in the data",
		mechanism.ZeroOut:        "whether it was replaced by an empty one",
	}[s.View.Genesis.Spec.Adjacency]
	for _, o := range s.Observed {
		reason := ""
		if o.Reason != "" {
			reason = ", for this reason: " + o.Reason
		}
		text := fmt.Sprintf("Entry %d, recorded by %s on %s%s. For each of %d canaries a fair coin decided %s; %d of "+
			"%d guesses were right.", o.Position, o.Principal, o.Time.UTC().Format("2 Jan 2006, 15:04 UTC"), reason,
			o.Canaries.Inserted, asked, o.Canaries.Correct, o.Canaries.Guesses)
		if f := o.Finding; f == nil {
			text += " There was no time to compare that with what is proven."
		} else {
			lower := ""
			if f.EpsilonLower != nil {
				lower = ", and no accountant can prove less than " + num.FormatDown(*f.EpsilonLower, digits)
			}
			text += fmt.Sprintf(" With %s %% confidence this shows ε ≥ %s at δ = %s. Proven is ε ≤ %s%s. If that "+
				"holds, so many right guesses have a chance of at most %s.", num.FormatDown(100*f.Confidence, digits),
				num.FormatDown(f.Observed, digits), strconv.FormatFloat(o.Canaries.Delta, 'g', -1, 64),
				num.FormatUp(f.Epsilon, digits), lower, num.FormatUp(f.PValue, 3))
		}
		points = append(points, text)
	}
	if points != nil {
		points = append(points, "This assumes that the coins were fair and independent, and that the number of "+
			"guesses was decided before.")
	}
	return points
}
