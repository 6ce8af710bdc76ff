// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// Output formats. Table is for people and may change; the others are for
// programs.
const (
	FormatTable = "table"
	FormatWide  = "wide"  // a table with every column, as wide as it gets
	FormatJSON  = "json"  // one object
	FormatJSONL = "jsonl" // an object a line
	FormatCSV   = "csv"

	FormatMarkdown = "markdown" // a document
)

// Format is the value of --output: one of those that the command offers.
type Format struct {
	Value   string
	allowed []string
}

// OutputFlag adds --output with the formats that make sense for c; table is the
// default.
func OutputFlag(c *cobra.Command, others ...string) *Format {
	return ChoiceFlag(c, "output", "o", append([]string{FormatTable}, others...)...)
}

// ChoiceFlag adds a flag that takes one of some words; the first is the default.
func ChoiceFlag(c *cobra.Command, name, shorthand string, allowed ...string) *Format {
	f := &Format{allowed[0], allowed}
	c.Flags().VarP(f, name, shorthand, strings.Join(allowed, "|"))
	_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
	return f
}

func (f *Format) String() string { return f.Value }
func (f *Format) Type() string   { return "format" }

// Set implements pflag.Value.
func (f *Format) Set(s string) error {
	if !slices.Contains(f.allowed, s) {
		return fmt.Errorf("allowed: %s", strings.Join(f.allowed, ", "))
	}
	f.Value = s
	return nil
}

// WriteJSON writes m as the one object on standard output.
func (p *Program) WriteJSON(m proto.Message) error {
	b, err := wirejson.Marshal(m)
	if err != nil {
		return err
	}
	_, err = p.Out.Write(append(bytes.TrimRight(b, "\n"), '\n'))
	return err
}

// WriteLine writes m as one line of JSON.
func (p *Program) WriteLine(m proto.Message) error {
	b, err := compactJSON(m)
	if err != nil {
		return err
	}
	_, err = p.Out.Write(append(b, '\n'))
	return err
}

// compactJSON is m as JSON without any space.
func compactJSON(m proto.Message) ([]byte, error) {
	b, err := wirejson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, b)
	return line.Bytes(), err
}

// Paragraph writes text on standard output, as wide as the terminal or $COLUMNS, and without line breaks where
// neither says how wide that is.
func (p *Program) Paragraph(text string) {
	words := strings.Fields(Clean(text))
	if p.width == 0 || len(words) == 0 {
		_, _ = fmt.Fprintln(p.Out, strings.Join(words, " "))
		return
	}
	_, _ = p.Out.WriteString(fillTo(p.width, "", "", words))
}

// Item writes text after a label, in lines below each other where it has to fit.
func (p *Program) Item(label, text string) { p.ItemAt(utf8.RuneCountInString(label), label, text) }

// ItemAt is Item with a label that takes so many columns, whatever it has of colours.
func (p *Program) ItemAt(columns int, label, text string) {
	words := strings.Fields(Clean(text))
	if p.width == 0 || len(words) == 0 {
		_, _ = fmt.Fprintln(p.Out, label+strings.Join(words, " "))
		return
	}
	_, _ = p.Out.WriteString(fillTo(p.width, label, strings.Repeat(" ", columns), words))
}

// Warn writes warnings on standard error, as Complain does: they refuse nothing.
func (p *Program) Warn(warnings []string) {
	for _, w := range warnings {
		p.Complain("warning: " + w)
	}
}

// Note writes on standard error what a reader should know: nothing is wrong.
func (p *Program) Note(text string) { p.Complain("note: " + text) }

// Complain writes what is wrong on standard error: one line, or on a terminal, and where $COLUMNS
// is set, as many as it takes. Then the line of a command that would work begins on a line of its
// own, and is broken so that a shell still takes it.
func (p *Program) Complain(text string) {
	text = "accountctl: " + Clean(text)
	if p.errWidth == 0 {
		_, _ = fmt.Fprintln(p.Err, text)
		return
	}
	const example, help = "; such as: accountctl ", "; see accountctl "
	text, more, shown := strings.Cut(text, example)
	at := strings.LastIndex(more, help)
	if !shown {
		at = strings.LastIndex(text, help)
	}
	see := ""
	switch {
	case at < 0:
	case shown:
		more, see = more[:at], "see "+more[at+len("; see "):]
	default:
		text, see = text[:at], "see "+text[at+len("; see "):]
	}
	out := fillTo(p.errWidth, "", "    ", strings.Fields(text))
	if shown {
		out += "such as:\n" + WrapCommands("  accountctl "+more)
	}
	if see != "" {
		out += see + "\n"
	}
	_, _ = io.WriteString(p.Err, out)
}

// WriteObject writes v, which is no message of the API, as the one object on
// standard output.
func (p *Program) WriteObject(v any) error {
	e := json.NewEncoder(p.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
