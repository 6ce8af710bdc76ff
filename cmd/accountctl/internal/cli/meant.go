// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
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
		return unknownFlag(c, unknown.GetSpecifiedName())
	case errors.As(err, &bare):
		flag := "--" + bare.GetFlag().Name
		return UsageOf(c, flag+" ", "%s: its value is missing", flag)
	case errors.As(err, &invalid):
		flag := "--" + invalid.GetFlag().Name
		return UsageOf(c, flag+" ", "%s: %q; %s", flag, invalid.GetValue(), allowedValue(invalid))
	}
	return Usage(c, "%v", err)
}

// unknownFlag says which flags were probably meant by one that the command does not have.
func unknownFlag(c *cobra.Command, name string) error {
	var names, meant []string
	lists := "allowed: those that the help lists"
	c.Flags().VisitAll(func(f *pflag.Flag) {
		names = append(names, "--"+f.Name)
		if slices.Contains(otherNames[f.Name], name) {
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
	case strings.Contains(allowed, "whole number") && thousands().MatchString(text):
		return "; write " + strings.ReplaceAll(text, ",", "")
	case strings.Contains(allowed, "whole number"):
		return ""
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

var decimalComma = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?[0-9]+,[0-9]+$`) })
