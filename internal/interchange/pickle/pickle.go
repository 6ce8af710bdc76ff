// SPDX-License-Identifier: Apache-2.0

// Package pickle reads the plain values of a Python pickle without running anything: numbers,
// strings, lists, tuples and dictionaries. A pickle is a program for a small machine with a stack;
// whatever it says about classes and functions becomes an Opaque value that only has a name. No
// class is looked up, no function is called, and no module is imported, because there are none here.
//
// The opcodes of protocols 2 to 5 are known (Python's Lib/pickle.py); those that only protocols 0
// and 1 write are refused. What a pickle may make this program keep is bounded by MaxBytes and
// maxValues, whatever the pickle says of its own sizes.
//
// It is a package of its own because it reads bytes that nobody has checked, and can be fuzzed and audited
// apart.
package pickle

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of one pickle. A checkpoint of a model with 10,000 tensors has some 10^6 values.
const (
	MaxBytes  = 32 << 20
	maxValues = 2_000_000
)

// List is a Python list or tuple. Values that a pickle mentions twice are shared, and a list may
// hold itself: who walks it follows a path of known length.
type List struct {
	Items []any
	Tuple bool
}

// Dict is a Python dictionary, in the order in which keys were set.
type Dict struct{ Keys, Values []any }

// Get returns what was set last for a string key.
func (d *Dict) Get(key string) (value any, ok bool) {
	for i := len(d.Keys) - 1; i >= 0; i-- {
		if d.Keys[i] == any(key) {
			return d.Values[i], true
		}
	}
	return nil, false
}

// Names are the keys that are strings, each once, in the order of their last settings.
func (d *Dict) Names() []string {
	var names []string
	seen := map[string]bool{}
	for _, k := range d.Keys {
		if name, ok := k.(string); ok && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// Opaque is a value that is not read: an object of a class, what a function would return, bytes, a
// set. Name says what it is, for messages only.
type Opaque struct{ Name string }

// LongNumber stands for every whole number that an int64 does not hold.
var LongNumber = Opaque{"a whole number beyond 64 bits"}

// An Error says at which byte of the pickle something is wrong.
type Error struct {
	At   int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("byte %d of the pickle: %s", e.At, e.What) }

var (
	errShort  = errors.New("it ends in the middle of a value")
	errStack  = errors.New("it takes a value that is not there")
	errMark   = errors.New("it takes values up to a mark that is not there")
	errTarget = errors.New("it adds values to something that is not a list, a dictionary or an object")
)

// Load runs the first pickle in data. It returns its value, in which only nil, bool, int64,
// float64, string, *List, *Dict and Opaque occur, and what follows the pickle.
func Load(data []byte) (value any, rest []byte, err error) {
	m := &machine{data: data[:min(len(data), MaxBytes)], memo: map[uint64]any{}, left: maxValues}
	for {
		start := m.at
		op, err := m.take(1)
		if err != nil {
			return nil, nil, m.wrong(start, err)
		}
		if op[0] == stop {
			value, err := m.pop()
			if err != nil {
				return nil, nil, m.wrong(start, err)
			}
			return value, data[m.at:], nil
		}
		do, ok := opcodes[op[0]]
		if !ok {
			return nil, nil, &Error{start, fmt.Sprintf("opcode 0x%02x is not one of protocols 2 to 5", op[0])}
		}
		if m.left--; m.left < 0 {
			return nil, nil, &Error{start, fmt.Sprintf("more than %d values and instructions", maxValues)}
		}
		if err := do(m); err != nil {
			return nil, nil, m.wrong(start, err)
		}
	}
}

func (m *machine) wrong(at int, err error) error {
	if errors.Is(err, errShort) && len(m.data) == MaxBytes {
		err = fmt.Errorf("it has no end within %d MiB", MaxBytes>>20)
	}
	return &Error{at, err.Error()}
}

// machine is the state of a pickle that runs. Every instruction makes at most one value and adds at
// most one entry to the memo; what it moves was put on the stack before.
type machine struct {
	data  []byte
	at    int
	stack []any
	marks []int // lengths of the stack
	memo  map[uint64]any
	left  int
}

// take returns the next n bytes, which are not copied.
func (m *machine) take(n uint64) ([]byte, error) {
	if n > uint64(len(m.data)-m.at) {
		return nil, errShort
	}
	b := m.data[m.at : m.at+int(n)]
	m.at += int(n)
	return b, nil
}

// uint reads a little-endian number of so many bytes, at most 8.
func (m *machine) uint(bytes uint64) (uint64, error) {
	b, err := m.take(bytes)
	var v uint64
	for i := len(b) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, err
}

// counted reads bytes after their number, which itself has so many bytes.
func (m *machine) counted(bytes uint64) ([]byte, error) {
	n, err := m.uint(bytes)
	if err != nil {
		return nil, err
	}
	return m.take(n)
}

// line reads up to the end of a line.
func (m *machine) line() (string, error) {
	for i, c := range m.data[m.at:] {
		if c == '\n' {
			b, err := m.take(uint64(i) + 1)
			return string(b[:i]), err
		}
	}
	return "", errShort
}

func (m *machine) push(v any) error {
	m.stack = append(m.stack, v)
	return nil
}

// floor is below what may be popped: the last mark.
func (m *machine) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

func (m *machine) pop() (any, error) {
	v, err := m.top()
	if err == nil {
		m.stack = m.stack[:len(m.stack)-1]
	}
	return v, err
}

func (m *machine) top() (any, error) {
	if len(m.stack) <= m.floor() {
		return nil, errStack
	}
	return m.stack[len(m.stack)-1], nil
}

// popMark takes the values above the last mark, in a slice of their own.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, errMark
	}
	floor := m.floor()
	m.marks = m.marks[:len(m.marks)-1]
	list := append([]any(nil), m.stack[floor:]...)
	m.stack = m.stack[:floor]
	return list, nil
}

// tuple puts the last n values into one.
func (m *machine) tuple(n int) error {
	if len(m.stack)-m.floor() < n {
		return errStack
	}
	split := len(m.stack) - n
	items := append([]any(nil), m.stack[split:]...)
	m.stack = m.stack[:split]
	return m.push(&List{items, true})
}

// extend adds items to the list on the stack. What is added to an object is not known, nor is what
// it is then.
func (m *machine) extend(items []any) error {
	target, err := m.top()
	if err != nil {
		return err
	}
	switch t := target.(type) {
	case *List:
		if t.Tuple {
			return errTarget
		}
		t.Items = append(t.Items, items...)
	case Opaque:
	default:
		return errTarget
	}
	return nil
}

// set adds keys and values in turns to the dictionary on the stack.
func (m *machine) set(items []any) error {
	target, err := m.top()
	if err != nil {
		return err
	}
	if len(items)%2 != 0 {
		return errStack
	}
	switch t := target.(type) {
	case *Dict:
		for i := 0; i < len(items); i += 2 {
			t.Keys, t.Values = append(t.Keys, items[i]), append(t.Values, items[i+1])
		}
	case Opaque:
	default:
		return errTarget
	}
	return nil
}

// object puts an instance of class, made of args, on the stack: a dictionary of an ordered one that
// is made empty, and otherwise what only has a name.
func (m *machine) object(class, args any) error {
	name := Describe(class)
	if list, ok := args.(*List); ok && len(list.Items) == 0 && class == any(Opaque{"collections.OrderedDict"}) {
		return m.push(&Dict{})
	}
	return m.push(Opaque{name})
}

// Describe names a value in a few words.
func Describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return fmt.Sprintf("%.40q", v)
	case *List:
		if v.Tuple {
			return fmt.Sprintf("a tuple of %d", len(v.Items))
		}
		return fmt.Sprintf("a list of %d", len(v.Items))
	case *Dict:
		return fmt.Sprintf("a dictionary of %d", len(v.Keys))
	case Opaque:
		return strings.ToValidUTF8(v.Name, "?")
	}
	return fmt.Sprint(v)
}

// short cuts a name that a pickle gives.
func short(name string) string {
	const most = 80
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}
