// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Meant is "did you mean …? " with the name that a misspelt one is most like, or "" where it is
// like none.
func Meant(word string, names []string) string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2} // cobra knows what is alike
	for _, name := range names {
		all.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	if like := all.SuggestionsFor(word); len(like) > 0 {
		return "did you mean " + like[0] + "? "
	}
	return ""
}

// WrongFlags says what is wrong with the flags of a command.
func WrongFlags(c *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		bare    *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && c.HasSubCommands() && c.Flags().NArg() > 0:
		return c.Args(c, c.Flags().Args()) // the command is wrong, and so no flag can be right
	case errors.As(err, &unknown):
		return unknownFlag(c, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames())
	case errors.As(err, &bare):
		flag := "--" + bare.GetFlag().Name
		return UsageOf(c, flag+" ", "%s: its value is missing", flag)
	case errors.As(err, &invalid):
		flag := "--" + invalid.GetFlag().Name
		return UsageOf(c, flag+" ", "%s: %q; %s", flag, invalid.GetValue(), allowedValue(invalid))
	}
	return Usage(c, "%v", err)
}

// unknownFlag says which flags were probably meant by one that the command does not have. Letters are what stands
// behind a single dash, if that is how it was written.
func unknownFlag(c *cobra.Command, name, letters string) error {
	if letters != "" {
		long, _, _ := strings.Cut(letters, "=")
		if f := c.Flags().Lookup(long); f != nil {
			return UsageOf(c, "--"+long+" ", "-%s: a flag of several letters has two dashes; write --%s", long, long)
		}
		return Usage(c, "unknown flag: -%s; allowed: flags with two dashes, which the help lists", letters)
	}
	var names, meant []string
	lists := "allowed: those that the help lists"
	c.Flags().VisitAll(func(f *pflag.Flag) {
		names = append(names, "--"+f.Name)
		if AlsoCalled(f.Name, name) {
			meant = append(meant, "--"+f.Name+" ("+f.Usage+")")
		}
		if len(f.Annotations[Unlisted]) > 0 {
			lists = "allowed: those that the help and accountctl mechanisms list"
		}
	})
	if len(meant) > 0 {
		return Usage(c, "unknown flag: --%s; write %s", name, strings.Join(meant, " or "))
	}
	return Usage(c, "unknown flag: --%s; %s%s", name, Meant("--"+name, names), lists)
}

// AlsoCalled reports whether people call a flag by another name.
func AlsoCalled(flag, other string) bool { return slices.Contains(otherNames[flag], other) }

// otherCommands are commands that people look for under another name: what stands behind the program's name, and what
// to write instead.
var otherCommands = map[string]string{
	"list":          "accountctl ledger list",
	"ls":            "accountctl ledger list",
	"create":        "accountctl ledger create",
	"show":          "accountctl ledger show",
	"get":           "accountctl ledger show",
	"status":        "accountctl doctor for the daemon, or accountctl overview for the ledgers",
	"explain":       "accountctl compute --explain",
	"epsilon":       "accountctl compute",
	"reserve":       "accountctl reservation create",
	"budget":        "accountctl ledger create NAME --budget …, or accountctl raise for a larger one",
	"restore":       "accountantd restore, while no daemon serves the store",
	"serve":         "accountantd: the daemon is a program of its own",
	"start":         "accountantd: the daemon is a program of its own",
	"ledger get":    "accountctl ledger show",
	"dataset get":   "accountctl dataset show",
	"ledger info":   "accountctl ledger show",
	"ledger status": "accountctl ledger show",
	"ledger delete": "accountctl ledger close: a ledger is never deleted",
	"ledger remove": "accountctl ledger close: a ledger is never deleted",
	"ledger rm":     "accountctl ledger close: a ledger is never deleted",
}

// otherNames are what people call a flag who know it from a paper or another library.
var otherNames = map[string][]string{
	"noise-multiplier":     {"sigma", "noise", "noise-scale"},
	"standard-deviation":   {"sigma", "std", "stddev", "std-dev", "stdev", "sd", "noise", "noise-scale"},
	"scale":                {"b", "noise-scale"},
	"sensitivity":          {"l1-sensitivity", "l2-sensitivity"},
	"max-grad-norm":        {"clip", "clip-norm", "clipping-norm", "l2-norm-clip", "max-norm"},
	"sampling-probability": {"q", "sample-rate", "sampling-rate", "rate", "probability"},
	"dataset-size":         {"n", "size", "records"},
	"batch-size":           {"batch", "lot-size"},
	"epsilon":              {"eps"},
	"target-epsilon":       {"eps", "epsilon"},
	"target-delta":         {"delta"},
	"count":                {"times", "repeat", "compositions"},
	"output":               {"json", "format"},
}

// allowedValue says what value a flag takes, and what the given one was probably meant to be.
func allowedValue(e *pflag.InvalidValueError) string {
	allowed := e.Unwrap().Error()
	var number *strconv.NumError // pflag's own values have the errors of the standard library
	switch kind := e.GetFlag().Value.Type(); {
	case strings.Contains(allowed, "allowed: "):
	case kind == "duration":
		allowed = "allowed: a number with its unit, such as 10s, 5m or 2h"
	case !errors.As(e, &number):
	case kind == "int" || kind == "uint32" || kind == "uint64":
		allowed = "allowed: a whole number"
	case kind == "bool":
		allowed = "allowed: true or false"
	default:
		allowed = "allowed: a number, such as 1.1 or 1e-6"
	}
	return allowed + Hint(e.GetValue(), allowed)
}

// Hint says how a number is written that was probably meant by a text which is none, where a number of some kind
// is allowed.
func Hint(text, allowed string) string {
	_, err := strconv.ParseFloat(text, 64)
	percent, isPercent := strings.CutSuffix(text, "%")
	x, notPercent := strconv.ParseFloat(percent, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return "; it is beyond 1.7e308, the largest number of a computer"
	case strings.HasSuffix(text, "k") && isThousands(text):
		return "; write " + strings.TrimSuffix(text, "k") + "e3"
	case strings.Contains(allowed, "whole number") && thousands().MatchString(text):
		return "; write " + strings.ReplaceAll(text, ",", "")
	case points().MatchString(text): // only a whole number is not read so
		hint := "; write " + strings.ReplaceAll(text, ".", "")
		if whole, rest, _ := strings.Cut(text, "."); !strings.Contains(rest, ".") {
			hint += " or " + whole
		}
		return hint
	case strings.Contains(allowed, "whole number"):
		return ""
	case power().MatchString(text):
		return "; write " + strings.Replace(text, "10^", "1e", 1)
	case fraction().MatchString(text):
		x, _ := new(big.Rat).SetString(text)
		f, _ := x.Float64()
		return "; write " + strconv.FormatFloat(f, 'g', 4, 64)
	case thousands().MatchString(text): // which may be either
		whole := strings.ReplaceAll(text, ",", "")
		if point := strings.Replace(text, ",", ".", 1); !strings.Contains(point, ",") {
			whole += " or " + point
		}
		return "; write " + whole
	case decimalComma().MatchString(text):
		return "; write " + strings.Replace(text, ",", ".", 1) + ", with a point"
	case isPercent && notPercent == nil:
		return "; for " + text + " write " + strconv.FormatFloat(x/100, 'g', -1, 64)
	}
	return ""
}

// thousands is a number with commas between its thousands.
var thousands = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]{0,2}(,[0-9]{3})+$`) })

// points is a number with points between its thousands, as some languages write it: in English it is a smaller one.
var points = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]{0,2}(\.[0-9]{3})+$`) })

// isThousands reports whether a text is a number of thousands, such as 60k.
func isThousands(text string) bool {
	_, err := strconv.ParseUint(strings.TrimSuffix(text, "k"), 10, 32)
	return err == nil
}

var power = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^10\^-?[0-9]{1,2}$`) })

var fraction = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]*/[1-9][0-9]*$`) })

var decimalComma = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?[0-9]+,[0-9]+$`) })
