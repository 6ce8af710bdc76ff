// SPDX-License-Identifier: Apache-2.0

package costs

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/values"
	"github.com/dpaccountant/accountant/internal/num"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/theorem"
	"github.com/dpaccountant/accountant/internal/wire"
)

// parametersOf are the flags that describe each guarantee, and that each target takes.
var parametersOf = map[string][]string{
	theorem.Pure: {"epsilon"}, theorem.Approximate: {"epsilon", "delta"}, theorem.Concentrated: {"rho"},
	theorem.Renyi: {"order", "epsilon"}, theorem.Gaussian: {"mu"},
}

var parametersTo = map[string][]string{
	theorem.Approximate: {"target-delta", "target-epsilon"}, theorem.Renyi: {"target-order"},
	theorem.Group:   {"group-size"},
	theorem.Sampled: {"sampling-probability", "adjacency"}, theorem.Testing: {"alpha"},
}

// convertHelp lists guarantees and targets with their flags.
func convertHelp() string {
	var b strings.Builder
	list := func(kinds []string, flags map[string][]string) {
		for _, k := range kinds {
			b.WriteString("  " + k + strings.Repeat(" ", 22-len(k)))
			for i, f := range flags[k] {
				if i > 0 {
					b.WriteString(", ")
				}
				b.WriteString("--" + f)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("Guarantees and their flags:\n\n")
	list(theorem.Kinds(), parametersOf)
	b.WriteString("\nTargets and theirs (approximate-dp takes one of both, hypothesis-test may go without):\n\n")
	list(theorem.Targets(), parametersTo)
	return b.String()
}

func convert(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "convert GUARANTEE --to TARGET",
		Short: "Turn one privacy guarantee into another",
		Long: `Turn one privacy guarantee into another where that is a theorem, which is named,
and refuse with the reason where it is not. Results are rounded to the safe side. Tight
means that some mechanism with the guarantee has no smaller one. No daemon is asked.

` + convertHelp(),
		Example: `  accountctl convert zero-concentrated-dp --rho 0.5 --to approximate-dp --target-delta 1e-6
  accountctl convert pure-dp --epsilon 1 --to zero-concentrated-dp
  accountctl convert approximate-dp --epsilon 1 --delta 1e-6 --to group --group-size 4
  accountctl convert pure-dp --epsilon 1 --to sampled --sampling-probability 0.01 --adjacency add-or-remove-one
  accountctl convert gaussian-dp --mu 1 --to hypothesis-test --alpha 0.05`,
		Args:              cli.Arguments("GUARANTEE"),
		ValidArgsFunction: cobra.FixedCompletions(theorem.Kinds(), cobra.ShellCompDirectiveNoFileComp),
	}
	var g theorem.Guarantee
	var t theorem.Target
	var delta, epsilon, alpha float64
	flags := c.Flags()
	flags.StringVar(&t.Kind, "to", "", "one of "+strings.Join(theorem.Targets(), ", "))
	flags.Float64Var(&g.Epsilon, "epsilon", 0, "ε > 0 of the guarantee, in nats; of renyi-dp the divergence at --order")
	flags.Float64Var(&g.Delta, "delta", 0, "δ in (0, 1) of the guarantee")
	flags.Float64Var(&g.Rho, "rho", 0, "ρ > 0 of the guarantee, in nats")
	flags.Float64Var(&g.Mu, "mu", 0, "μ > 0 of the guarantee")
	flags.Float64Var(&g.Order, "order", 0, "α > 1 of the guarantee")
	flags.Float64Var(&delta, "target-delta", 0, "δ in (0, 1): asks for ε")
	flags.Float64Var(&epsilon, "target-epsilon", 0, "ε ≥ 0, in nats: asks for δ")
	flags.Float64Var(&t.Order, "target-order", 0, "α > 1: asks for the divergence there")
	flags.Uint64Var(&t.GroupSize, "group-size", 0, "k, the number of records that differ, 1 to 2^32")
	flags.Float64Var(&t.SamplingProbability, "sampling-probability", 0, "q in (0, 1] of Poisson sampling")
	adjacency := values.AdjacencyFlag(c, "of the guarantee; sampling amplifies it under add-or-remove-one only")
	flags.Float64Var(&alpha, "alpha", 0, "the type I error of a test, in [0, 1]: asks for its type II error")
	_ = c.RegisterFlagCompletionFunc("to",
		cobra.FixedCompletions(theorem.Targets(), cobra.ShellCompDirectiveNoFileComp))
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		g.Kind = args[0]
		if err := checkConvertFlags(c, g.Kind, t.Kind); err != nil {
			return err
		}
		for name, to := range map[string]struct {
			value *float64
			field **float64
		}{"target-delta": {&delta, &t.Delta}, "target-epsilon": {&epsilon, &t.Epsilon}, "alpha": {&alpha, &t.Alpha}} {
			if flags.Changed(name) {
				*to.field = to.value
			}
		}
		if flags.Changed("adjacency") {
			var err error
			if t.Adjacency, err = wire.ToAdjacency("adjacency", *adjacency); err != nil {
				return err
			}
		}
		converted, err := theorem.Convert(g, t)
		var refused *theorem.RefusedError
		if errors.As(err, &refused) {
			return cli.Wrong(err.Error())
		}
		if err != nil {
			return err
		}
		out := convertedJSON(t.Kind, converted)
		if output.Value == cli.FormatJSON {
			return p.WriteObject(out)
		}
		return writeConverted(p, out)
	}
	return c
}

// checkConvertFlags refuses flags that belong to neither.
func checkConvertFlags(c *cobra.Command, from, to string) error {
	if to == "" {
		return cli.Usage(c, "--to is missing; allowed: %s", strings.Join(theorem.Targets(), ", "))
	}
	if !slices.Contains(theorem.Kinds(), from) {
		return cli.Usage(c, "guarantee: %q; allowed: %s", from, strings.Join(theorem.Kinds(), ", "))
	}
	for _, given := range [...]string{"epsilon", "delta", "rho", "mu", "order", "target-delta", "target-epsilon",
		"target-order", "group-size", "sampling-probability", "adjacency", "alpha"} {
		if c.Flags().Changed(given) && !slices.Contains(parametersOf[from], given) &&
			!slices.Contains(parametersTo[to], given) {
			return cli.Usage(c, "--%s belongs neither to %s nor to %s", given, from, to)
		}
	}
	return nil
}

// conversionJSON has the guarantee's own parameters only, or those of a test.
type conversionJSON struct {
	To         string      `json:"to"`
	Guarantee  string      `json:"guarantee,omitempty"` // its kind
	Order      *cli.Number `json:"order,omitempty"`
	Epsilon    *cli.Number `json:"epsilon,omitempty"`
	Delta      *cli.Number `json:"delta,omitempty"`
	Rho        *cli.Number `json:"rho,omitempty"`
	Mu         *cli.Number `json:"mu,omitempty"`
	Alpha      *cli.Number `json:"alpha,omitempty"`
	Beta       *cli.Number `json:"beta,omitempty"`
	EqualError *cli.Number `json:"equalErrorRate,omitempty"`
	Advantage  *cli.Number `json:"advantage,omitempty"`
	Theorem    string      `json:"theorem"`
	Source     string      `json:"source"`
	Tight      bool        `json:"tight"`
}

func convertedJSON(to string, c theorem.Converted) conversionJSON {
	g := c.Guarantee
	out := conversionJSON{To: to, Guarantee: g.Kind, Theorem: c.Theorem, Source: c.Source, Tight: c.Tight}
	for _, name := range parametersOf[g.Kind] {
		switch name {
		case "order":
			out.Order = (*cli.Number)(&g.Order)
		case "epsilon":
			out.Epsilon = (*cli.Number)(&g.Epsilon)
		case "delta":
			out.Delta = (*cli.Number)(&g.Delta)
		case "rho":
			out.Rho = (*cli.Number)(&g.Rho)
		case "mu":
			out.Mu = (*cli.Number)(&g.Mu)
		}
	}
	if t := c.Test; t != nil {
		if t.Alpha != nil {
			out.Alpha, out.Beta = (*cli.Number)(t.Alpha), (*cli.Number)(&t.Beta)
		}
		out.EqualError, out.Advantage = (*cli.Number)(&t.EqualError), (*cli.Number)(&t.Advantage)
	}
	return out
}

func writeConverted(p *cli.Program, c conversionJSON) error {
	atMost := func(x float64) string { return "≤ " + num.FormatReadUp(x, spelling.Digits) }
	atLeast := func(x float64) string { return "≥ " + num.FormatReadDown(x, spelling.Digits) }
	t := p.Table()
	t.Row("to", c.To)
	if c.Guarantee != "" && c.Guarantee != c.To {
		t.Row("guarantee", c.Guarantee)
	}
	for _, r := range []struct {
		name  string
		value *cli.Number
		text  func(float64) string
	}{
		{"order", c.Order, spelling.Exact}, {"epsilon", c.Epsilon, atMost}, {"delta", c.Delta, atMost},
		{"rho", c.Rho, atMost}, {"mu", c.Mu, atMost},
		{"alpha", c.Alpha, spelling.Exact}, {"beta", c.Beta, atLeast}, {"equal error rate", c.EqualError, atLeast},
		{"advantage", c.Advantage, atMost},
	} {
		if r.value != nil {
			t.Row(r.name, r.text(float64(*r.value)))
		}
	}
	t.Row("theorem", c.Theorem)
	t.Row("source", c.Source)
	t.Row("tight", map[bool]string{true: "yes", false: "not known to be"}[c.Tight])
	return t.Flush()
}
