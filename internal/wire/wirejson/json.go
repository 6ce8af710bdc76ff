// SPDX-License-Identifier: Apache-2.0

package wirejson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/dpaccountant/accountant/internal/wire"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Unmarshal reads one protobuf JSON object into m, strictly: unknown and
// repeated fields, two members of a oneof, values of another type and anything
// after the object are refused, with protobuf's own words, which name line, column
// and field. Field names may be in lower camel case or snake case. After an error m
// is undefined.
func Unmarshal(data []byte, m proto.Message) error {
	if len(data) > wire.MaxJSONBytes {
		return wire.Invalid("JSON", fmt.Sprintf("%d bytes", len(data)),
			fmt.Sprintf("at most %d bytes", wire.MaxJSONBytes))
	}
	if err := (protojson.UnmarshalOptions{RecursionLimit: wire.MaxDepth}).Unmarshal(data, m); err != nil {
		return wire.Invalid("JSON", reason(err), "one JSON object, at its top with the fields "+
			fieldNames(m.ProtoReflect().Descriptor()))
	}
	return nil
}

// maxReason bounds how many bytes of an error are shown, as it may repeat a long text.
const maxReason = 4 * wire.MaxShown

// reason is what protojson says is wrong: "(line 3:16): invalid value for enum field adjacency: …".
// It begins with "proto:" and a space of one of two kinds.
func reason(err error) string {
	text := strings.TrimSpace(strings.TrimPrefix(err.Error(), "proto:"))
	if len(text) > maxReason {
		text = text[:maxReason] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

func fieldNames(md protoreflect.MessageDescriptor) string {
	names := make([]string, md.Fields().Len())
	for i := range names {
		names[i] = md.Fields().Get(i).JSONName()
	}
	return strings.Join(names, ", ")
}

// maxExact is 2^53: up to there every reader of JSON numbers has the integer
// exactly.
const maxExact = 1 << 53

// Marshal writes m as protobuf JSON with default values, so that zeros are
// shown and absent optional fields are not. Integers of 64-bit fields up to 2^53
// are numbers, larger ones strings; ∞ is "Infinity". Floats have the fewest
// digits that give the same float64 again, so they are not rounded. Fields are in the
// order of the message, map keys sorted, the indentation two spaces; equal
// messages have equal bytes. There is no newline at the end.
func Marshal(m proto.Message) ([]byte, error) {
	b, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	// protojson varies its white space on purpose and writes 64-bit integers as
	// strings: write the same tokens again.
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	w := &jsonWriter{tokens: dec}
	if err := w.value(m.ProtoReflect().Descriptor(), nil); err != nil {
		return nil, err
	}
	return escapeSteering(w.out.Bytes()), nil
}

// escapeSteering writes the characters in JSON's strings as \u…. that steer terminals
// or turn around the text that follows. Readers get the same value.
func escapeSteering(b []byte) []byte {
	if !bytes.ContainsFunc(b, Steers) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if Steers(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// Steers reports whether r is a control character other than those that lay out a
// text (tab, newline, carriage return), or sets the direction of text.
func Steers(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' || unicode.Is(unicode.Bidi_Control, r)
}

// jsonWriter copies protojson's tokens along the message's descriptor.
type jsonWriter struct {
	tokens *json.Decoder
	out    bytes.Buffer
	depth  int
}

// value copies one value, or each of a list: of the field fd, whose message md
// is, if any. The root has no field. A well-known type such as Timestamp has a
// message, but its JSON is a scalar.
func (w *jsonWriter) value(md protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) error {
	tok, err := w.tokens.Token()
	if err != nil {
		return err
	}
	switch tok {
	case json.Delim('{'):
		return w.sequence('{', '}', func() error { return w.member(md) })
	case json.Delim('['):
		return w.sequence('[', ']', func() error { return w.value(md, fd) })
	}
	return w.scalar(tok, fd)
}

// member copies a key and its value: of a message, or of a map, whose entries
// are messages of a key 1 and a value 2.
func (w *jsonWriter) member(md protoreflect.MessageDescriptor) error {
	tok, err := w.tokens.Token()
	if err != nil {
		return err
	}
	key := tok.(string)
	fd := md.Fields().ByNumber(2)
	if !md.IsMapEntry() {
		fd = md.Fields().ByJSONName(key)
	}
	if fd == nil {
		return fmt.Errorf("no field %q in %s", key, md.FullName())
	}
	if err := w.scalar(key, nil); err != nil {
		return err
	}
	w.out.WriteString(": ")
	return w.value(fd.Message(), fd)
}

// sequence copies what is between two delimiters, an element a line.
func (w *jsonWriter) sequence(first, last byte, element func() error) error {
	w.out.WriteByte(first)
	w.depth++
	empty := true
	for ; w.tokens.More(); empty = false {
		if !empty {
			w.out.WriteByte(',')
		}
		w.newline()
		if err := element(); err != nil {
			return err
		}
	}
	w.depth--
	if !empty {
		w.newline()
	}
	w.out.WriteByte(last)
	_, err := w.tokens.Token() // the closing delimiter
	return err
}

func (w *jsonWriter) newline() {
	w.out.WriteByte('\n')
	for range w.depth {
		w.out.WriteString("  ")
	}
}

// scalar copies a scalar of field fd, nil for a key.
func (w *jsonWriter) scalar(tok json.Token, fd protoreflect.FieldDescriptor) error {
	if s, ok := tok.(string); ok && fd != nil && isExactInteger(s, fd.Kind()) {
		w.out.WriteString(s)
		return nil
	}
	enc := json.NewEncoder(&w.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tok); err != nil {
		return err
	}
	w.out.Truncate(w.out.Len() - 1) // Encode ends with a newline
	return nil
}

// isExactInteger reports whether s is an integer of a 64-bit field, at most 2^53.
func isExactInteger(s string, kind protoreflect.Kind) bool {
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind,
		protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
	default:
		return false
	}
	v, err := strconv.ParseInt(s, 10, 64) // beyond int64 it is beyond 2^53
	return err == nil && -maxExact <= v && v <= maxExact
}
