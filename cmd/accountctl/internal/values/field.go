// SPDX-License-Identifier: Apache-2.0

package values

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// AddFlag adds a flag that sets a field of m, with the help that the API's comment gives. The help calls its value so.
func AddFlag(c *cobra.Command, m protoreflect.Message, f protoreflect.FieldDescriptor, name, value string) {
	of := &fieldValue{message: m, field: f, called: value}
	flag := c.Flags().VarPF(of, name, "", fieldHelp(f))
	flag.Annotations = map[string][]string{cli.Field: {string(f.Name())}}
	switch f.Kind() {
	case protoreflect.BoolKind:
		of.called, flag.NoOptDefVal = "bool", "true"
	case protoreflect.EnumKind:
		_ = c.RegisterFlagCompletionFunc(name,
			cobra.FixedCompletions(of.Allowed(), cobra.ShellCompDirectiveNoFileComp))
	case protoreflect.MessageKind:
		if isBudget(f) {
			_ = c.RegisterFlagCompletionFunc(name, completeBudget)
		}
	}
}

// fieldValue is the value of a flag that sets a field.
type fieldValue struct {
	message protoreflect.Message
	field   protoreflect.FieldDescriptor
	called  string
}

func (v *fieldValue) String() string { return "" }
func (v *fieldValue) Type() string   { return v.called }

// Allowed returns the words that the flag takes, if it takes words.
func (v *fieldValue) Allowed() []string {
	if v.field.Kind() != protoreflect.EnumKind {
		return nil
	}
	return words(v.field.Enum())
}

// Set implements pflag.Value.
func (v *fieldValue) Set(text string) error { return SetField(v.message, v.field, text) }

// fieldHelp is what the help of a flag says of a field: the first sentence of the API's comment, and the range.
func fieldHelp(f protoreflect.FieldDescriptor) string {
	comment := helpOf[strings.TrimPrefix(string(f.FullName()), "accountant.v1.")]
	text := FirstSentence(comment)
	for _, begins := range []string{"Range: ", "Range of each: "} {
		if _, interval, ok := strings.Cut(comment, begins); ok {
			interval, _, _ = strings.Cut(interval, ". ")
			text += "; range: " + strings.TrimSuffix(interval, ".")
		}
	}
	text = inFlags(text)
	if f.Kind() == protoreflect.EnumKind {
		text += ": " + strings.Join(words(f.Enum()), ", ")
	}
	if isBudget(f) {
		text += "; such as epsilon=8,delta=1e-6"
	}
	if f.IsList() || f.IsMap() {
		text += "; may be repeated"
	}
	return text
}

// inFlags spells the API's names in a text as flags and their values are spelled.
func inFlags(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		switch {
		case !strings.Contains(word, "_"):
		case strings.ToUpper(word) == word:
			words[i] = strings.ToLower(spelling.Dashed(word))
		default:
			words[i] = "--" + spelling.Dashed(word)
		}
	}
	return strings.Join(words, " ")
}

func isBudget(f protoreflect.FieldDescriptor) bool {
	return f.Message() == (&accountantv1.Budget{}).ProtoReflect().Descriptor()
}

// FirstSentence is the first sentence of a comment as the help of flags shows it: in lower case, without its full stop.
func FirstSentence(comment string) string {
	text, _, _ := strings.Cut(comment, ". ")
	text = strings.TrimSuffix(text, ".")
	if first, rest, ok := strings.Cut(text, " "); ok && (len(first) > 1 || first == "A") && first[0] < utf8.RuneSelf {
		text = strings.ToLower(first[:1]) + first[1:] + " " + rest
	}
	return text
}

// SetField gives m's field the value in the text. Labels, and a list, get one more; a list of numbers one for each
// number between commas.
func SetField(m protoreflect.Message, f protoreflect.FieldDescriptor, text string) error {
	if number := f.Kind() != protoreflect.StringKind && f.Message() == nil; f.IsList() && number {
		for part := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
			value, err := valueOf(f, strings.TrimSpace(part))
			if err != nil {
				return errors.New(strings.Replace(err.Error(), "a number, such as 1.1 or 1e-6",
					"numbers with commas between them, such as 2,4,8", 1))
			}
			m.Mutable(f).List().Append(value)
		}
		return nil
	}
	if f.IsMap() {
		key, value, ok := strings.Cut(text, "=")
		labels := m.Mutable(f).Map()
		switch at := protoreflect.ValueOfString(key).MapKey(); {
		case !ok:
			return errors.New("allowed: KEY=VALUE")
		case labels.Has(at):
			return errors.New("the key " + strconv.Quote(key) + " is given twice")
		default:
			labels.Set(at, protoreflect.ValueOfString(value))
		}
		return nil
	}
	value, err := valueOf(f, text)
	switch {
	case err != nil:
		return err
	case f.IsList():
		m.Mutable(f).List().Append(value)
	default:
		m.Set(f, value)
	}
	return nil
}

// valueOf reads a value of a field's kind.
func valueOf(f protoreflect.FieldDescriptor, text string) (v protoreflect.Value, err error) {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), nil
	case protoreflect.DoubleKind:
		x, err := cli.Real(text)
		if err != nil {
			return v, errors.New("allowed: a number, such as 1.1 or 1e-6")
		}
		return protoreflect.ValueOfFloat64(x), nil
	case protoreflect.BoolKind:
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return v, errors.New("allowed: true or false")
		}
		return protoreflect.ValueOfBool(yes), nil
	case protoreflect.EnumKind:
		return word(f.Enum(), text)
	case protoreflect.MessageKind:
		return messageOf(f.Message(), text)
	case protoreflect.Uint32Kind:
		n, err := cli.Whole(text, 32)
		if err != nil {
			return v, errors.New("allowed: a whole number from 1 to 4294967295")
		}
		return protoreflect.ValueOfUint32(uint32(n)), nil
	}
	n, err := cli.Whole(text, 64)
	if err != nil {
		return v, errors.New("allowed: a whole number")
	}
	return protoreflect.ValueOfUint64(n), nil
}

// messageOf reads a time or a budget: no other message is the value of a flag.
func messageOf(kind protoreflect.MessageDescriptor, text string) (v protoreflect.Value, err error) {
	var m proto.Message
	if kind == (&timestamppb.Timestamp{}).ProtoReflect().Descriptor() {
		t, wrong := parseTime(text)
		if m = timestamppb.New(t); wrong != nil {
			err = errors.New("allowed: a date in UTC such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z")
		}
	} else {
		m, err = parseBudget(text)
	}
	return protoreflect.ValueOfMessage(m.ProtoReflect()), err
}

// word reads a name of an enum.
func word(e protoreflect.EnumDescriptor, text string) (v protoreflect.Value, err error) {
	name := strings.ToUpper(strings.ReplaceAll(text, "-", "_")) // as files spell it
	if known := e.Values().ByName(protoreflect.Name(name)); known != nil && known.Number() != 0 {
		return protoreflect.ValueOfEnum(known.Number()), nil
	}
	meant := cli.Meant(text, words(e))
	if other := otherAdjacencies[name]; other != 0 && e == other.Descriptor() {
		meant = "did you mean " + spelling.Adjacency(other) + "? "
	}
	return v, errors.New(meant + "allowed: " + strings.Join(words(e), ", "))
}

// words are the names of an enum, as flags spell them.
func words(e protoreflect.EnumDescriptor) []string {
	var out []string
	for i := 1; i < e.Values().Len(); i++ {
		out = append(out, strings.ToLower(spelling.Dashed(string(e.Values().Get(i).Name()))))
	}
	return out
}
