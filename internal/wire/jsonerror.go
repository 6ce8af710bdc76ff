package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// protojson says what is wrong and its line and column, for example
// `proto: syntax error (line 3:5): unexpected token }`, with a space after
// "proto:" that is one of two kinds.
var positioned = regexp.MustCompile(`(?s)^(?:proto:\s*|proto:\x{00a0})?(?:syntax error )?\(line (\d+):(\d+)\): (.*)$`)

// explainJSON makes an *InvalidError of protojson's error: the path to the
// place, what is there, and what is allowed.
func explainJSON(data []byte, md protoreflect.MessageDescriptor, err error) error {
	parts := positioned.FindStringSubmatch(err.Error())
	if parts == nil {
		_, text, _ := strings.Cut(err.Error(), "proto:")
		return invalid("JSON", strings.TrimSpace(text), "one object of "+string(md.FullName()))
	}
	line, _ := strconv.Atoi(parts[1])
	column, _ := strconv.Atoi(parts[2])
	at := locate(data, md, offsetOf(data, line, column))
	what := parts[3]
	if len(what) > 2*maxShown {
		what = what[:2*maxShown] + "…"
	}
	what = strings.ToValidUTF8(what, "�")
	return invalid(at.path, fmt.Sprintf("%s (line %d, column %d)", what, line, column), at.allowed(what, md))
}

// offsetOf is the byte at a line and a column, counted in runes from 1.
func offsetOf(data []byte, line, column int) int64 {
	offset := 0
	for ; line > 1; line-- {
		next := bytes.IndexByte(data[offset:], '\n')
		if next < 0 {
			break
		}
		offset += next + 1
	}
	for ; column > 1 && offset < len(data); column-- {
		_, size := utf8.DecodeRune(data[offset:])
		offset += size
	}
	return int64(offset)
}

// place is a token's place in a JSON document.
type place struct {
	path  string
	owner protoreflect.MessageDescriptor // of the member at path, if known
	field protoreflect.FieldDescriptor   // the member, if known
}

// allowed says what could be at the place instead.
func (p place) allowed(what string, root protoreflect.MessageDescriptor) string {
	switch {
	case strings.HasPrefix(what, "unknown field") && p.owner != nil:
		return "the fields of " + string(p.owner.FullName()) + ": " + fieldNames(p.owner)
	case strings.HasPrefix(what, "duplicate"):
		return "each name once"
	case strings.HasSuffix(what, "is already set"):
		return "one of the fields that exclude each other"
	case p.field != nil:
		return kindName(p.field)
	}
	return "one object of " + string(root.FullName())
}

func fieldNames(md protoreflect.MessageDescriptor) string {
	names := make([]string, md.Fields().Len())
	for i := range names {
		names[i] = md.Fields().Get(i).JSONName()
	}
	return strings.Join(names, ", ")
}

func kindName(fd protoreflect.FieldDescriptor) string {
	name := "a " + fd.Kind().String()
	switch {
	case fd.Kind() == protoreflect.Uint32Kind && fd.FullName().Parent().Name() == "Event":
		name = "a whole number from 1 to 4294967295"
	case fd.Kind() == protoreflect.Uint32Kind:
		name = "a whole number from 0 to 4294967295"
	case fd.Kind() == protoreflect.Uint64Kind:
		name = "a whole number from 0 to 18446744073709551615"
	case fd.IsMap():
		return "an object of names with values"
	case fd.Enum() != nil:
		names := make([]string, fd.Enum().Values().Len())
		for i := range names {
			names[i] = string(fd.Enum().Values().Get(i).Name())
		}
		name = "one of " + strings.Join(names, ", ")
	case fd.Message() != nil:
		name = "an object of " + string(fd.Message().FullName())
	}
	if fd.IsList() {
		return "a list: each " + name
	}
	return name
}

// locate follows the tokens of a JSON document to the one at offset. The
// document need not be valid from there on.
func locate(data []byte, md protoreflect.MessageDescriptor, offset int64) place {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	l := locator{dec: dec, offset: offset, at: place{path: "JSON"}}
	l.value("", md, nil)
	return l.at
}

type locator struct {
	dec    *json.Decoder
	offset int64
	at     place
}

// next reads a token; false at the one that contains the offset, and where
// there is none.
func (l *locator) next() (json.Token, bool) {
	tok, err := l.dec.Token()
	return tok, err == nil && l.dec.InputOffset() <= l.offset
}

// value walks over one value; false once the place is found. path is the
// value's own, md its message and fd its field, nil where unknown.
func (l *locator) value(path string, md protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor) bool {
	if path != "" {
		l.at = place{path: shortPath(path), field: fd}
	}
	tok, ok := l.next()
	if !ok {
		return false
	}
	switch tok {
	case json.Delim('{'):
		for l.dec.More() {
			if !l.member(path, md) {
				return false
			}
		}
	case json.Delim('['):
		for i := 0; l.dec.More(); i++ {
			if !l.value(fmt.Sprintf("%s[%d]", path, i), md, fd) {
				return false
			}
		}
	default:
		return true
	}
	_, ok = l.next()
	return ok
}

func (l *locator) member(path string, md protoreflect.MessageDescriptor) bool {
	tok, ok := l.next()
	key, isKey := tok.(string)
	if !isKey {
		return false
	}
	if path != "" {
		path += "."
	}
	path += key
	var fd protoreflect.FieldDescriptor
	var inner protoreflect.MessageDescriptor
	switch {
	case md == nil:
	case md.IsMapEntry():
		fd = md.Fields().ByNumber(2)
	default:
		if fd = md.Fields().ByJSONName(key); fd == nil {
			fd = md.Fields().ByTextName(key)
		}
	}
	if fd != nil {
		inner = fd.Message()
	}
	l.at = place{path: shortPath(path), owner: md, field: fd}
	return ok && l.value(path, inner, fd)
}

// shortPath keeps the end of a long path.
func shortPath(path string) string {
	if len(path) <= 4*maxShown {
		return path
	}
	return "…" + strings.ToValidUTF8(path[len(path)-4*maxShown:], "")
}
