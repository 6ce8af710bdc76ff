// SPDX-License-Identifier: Apache-2.0

package mechanisms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/mechanism/table"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// parameterHelp describes the parameter with this name in the API for the help of its flag,
// which all kinds share that have such a parameter. It is one of sharedHelp, or the first sentence
// of the API's comment, of each kind where these differ.
func parameterHelp(name string) string {
	if text, ok := sharedHelp[name]; ok {
		return text
	}
	var said []string
	for _, k := range mechanism.Kinds() {
		for _, p := range k.Parameters {
			if p.Name != name {
				continue
			}
			if text := firstSentence(p); !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
	}
	return strings.Join(said, "; or ")
}

// sharedHelp describes parameters of which one sentence is better than those of all kinds, or of
// which the API says too little to be read alone.
var sharedHelp = map[string]string{
	"standard_deviation": "σ of the noise, in the units of the query",
	"scale":              "b of the noise, in the units of the query or score",
	"sensitivity": "Δ: the norm of one record's contribution, ℓ2 for Gaussian noise (for DP-SGD the clipping norm) " +
		"and ℓ1 for Laplace noise, in the units of the query",
	"distance": "the largest distance between the outputs on neighbouring datasets, in the norm of the " +
		"sensitivity",
	"noise_multiplier":     "σ/Δ, without units",
	"epsilon":              "ε, in nats",
	"delta":                "δ",
	"rho":                  "ρ, in nats",
	"batch_size":           "the expected number of records in a batch; with --dataset-size",
	"dataset_size":         "the number of records in the dataset; with --batch-size",
	"sampling_probability": "q of Poisson sampling, a fresh batch each time",
	"steps":                "how often noise is added; steps of a tree, a matrix or an epoch",
	"monotone":             "a record's contributions all have one sign, as in counts",
	"distribution":         "the noise: LAPLACE, EXPONENTIAL or GUMBEL",
	"participations":       "the most steps that one record takes part in",
	"minimum_separation":   "the least number of steps from one participation to the next",
}

// firstSentence is that of the parameter's help, with the kind of value that a list takes.
func firstSentence(p table.Parameter) string {
	text := values.FirstSentence(p.Help)
	if p.Most > 0 {
		text += "; a `list`: 1,0.5"
	}
	return text
}

// Help says how a line describes mechanisms, for the help of every command that takes them.
const Help = `A mechanism is its name and its flags; a lone + stands before the next one. With
--batch-size and --dataset-size, or --sampling-probability, it runs on Poisson samples.
"accountctl mechanisms" lists the names and flags of all.`

// Table lists the kinds with their flags, sampling last, in lines of at most 80 columns.
func Table() string {
	var b strings.Builder
	row := func(name string, flags []string) {
		line := fmt.Sprintf("  %-22s", name)
		for i, flag := range flags {
			if i < len(flags)-1 {
				flag += ","
			}
			if len(line)+1+len(flag) > 80 {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", 24)
			}
			line += " " + flag
		}
		b.WriteString(line + "\n")
	}
	for _, k := range allKinds() {
		switch {
		case holdsNoise(k):
			row(spell(k), append(flagNames(k), "and those of gaussian or laplace"))
		case described(k):
			row(spell(k), flagNames(k))
		}
	}
	row("with Poisson sampling", flagNames(kindOf(samplingKind)))
	return b.String()
}

// FlagHelp says what each flag of the mechanisms means.
func FlagHelp() string {
	c := &cobra.Command{}
	AddFlags(c)
	c.Flags().VisitAll(func(f *pflag.Flag) { f.Annotations = nil }) // this is where they are listed
	return cli.FlagText(c.Flags())
}

// HelpOf describes the mechanism that people call so: what the API says of it, a line that works, and its flags.
func HelpOf(name string) (text string, ok bool) {
	field, ok := kindNamed(name)
	if !ok {
		return "", false
	}
	kind := mechanism.KindNumbered(int(field.Number()))
	c := &cobra.Command{}
	AddFlags(c)
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	show := func(flag string) {
		if f := c.Flags().Lookup(flag); f != nil && own.Lookup(flag) == nil {
			f.Annotations = nil // this is where they are listed
			own.AddFlag(f)
		}
	}
	for _, p := range kind.Parameters {
		show(spelling.Dashed(p.Name))
	}
	if holdsNoise(field) {
		for _, noise := range noiseKinds() {
			for _, p := range parameters(noise) {
				show(spelling.Dashed(string(p.Name())))
			}
		}
	}
	show(count)
	example, _ := Example(name)
	text = cli.Wrap(fmt.Sprintf("%s is a mechanism, for commands such as compute and report. %s", spell(field),
		kind.Help)) + "\n\nExamples:\n" + cli.WrapCommands("  accountctl compute --delta 1e-6 "+example) +
		"\nFlags:\n" + cli.FlagText(own)
	if !strings.Contains(example, "-size") && !holdsNoise(field) {
		text += "\nOn Poisson samples it also takes " + strings.Join(flagNames(kindOf(samplingKind)), ", ") + ".\n"
	}
	return text, true
}
