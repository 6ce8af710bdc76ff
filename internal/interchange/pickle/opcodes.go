// SPDX-License-Identifier: Apache-2.0

package pickle

import (
	"encoding/binary"
	"math"
)

const stop = '.'

// opcodes are those that protocols 2 to 5 write (Python's Lib/pickle.py), but for stop.
var opcodes = map[byte]func(*machine) error{
	0x80: skip(1), // PROTO
	0x95: skip(8), // FRAME
	'(':  func(m *machine) error { m.marks = append(m.marks, len(m.stack)); return nil },
	'0':  pop,
	'1':  func(m *machine) error { _, err := m.popMark(); return err },
	'2':  func(m *machine) error { v, err := m.top(); return orPush(m, v, err) },

	'N':  constant(nil),
	0x88: constant(true),
	0x89: constant(false),
	'J':  func(m *machine) error { v, err := m.uint(4); return orPush(m, int64(int32(v)), err) },
	'K':  func(m *machine) error { v, err := m.uint(1); return orPush(m, int64(v), err) },
	'M':  func(m *machine) error { v, err := m.uint(2); return orPush(m, int64(v), err) },
	0x8a: long(1),
	0x8b: long(4),
	'G':  float,

	'X':  text(4),
	0x8c: text(1),
	0x8d: text(8),
	'T':  hidden(4, "bytes"), // BINSTRING, a str of Python 2
	'U':  hidden(1, "bytes"),
	'B':  hidden(4, "bytes"),
	'C':  hidden(1, "bytes"),
	0x8e: hidden(8, "bytes"),
	0x96: hidden(8, "a bytearray"),
	0x97: constant(Opaque{"a buffer outside of the pickle"}),
	0x98: func(m *machine) error { _, err := m.top(); return err }, // READONLY_BUFFER

	']':  func(m *machine) error { return m.push(&List{}) },
	')':  func(m *machine) error { return m.push(&List{Tuple: true}) },
	'}':  func(m *machine) error { return m.push(&Dict{}) },
	0x8f: constant(Opaque{"a set"}),
	't':  func(m *machine) error { list, err := m.popMark(); return orPush(m, &List{list, true}, err) },
	0x85: func(m *machine) error { return m.tuple(1) },
	0x86: func(m *machine) error { return m.tuple(2) },
	0x87: func(m *machine) error { return m.tuple(3) },
	0x91: func(m *machine) error { _, err := m.popMark(); return orPush(m, Opaque{"a frozenset"}, err) },
	'a':  one((*machine).extend, 1),
	'e':  marked((*machine).extend),
	's':  one((*machine).set, 2),
	'u':  marked((*machine).set),
	0x90: marked((*machine).extend), // ADDITEMS, to a set

	'q':  func(m *machine) error { k, err := m.uint(1); return m.remember(k, err) },
	'r':  func(m *machine) error { k, err := m.uint(4); return m.remember(k, err) },
	0x94: func(m *machine) error { return m.remember(uint64(len(m.memo)), nil) },
	'h':  func(m *machine) error { k, err := m.uint(1); return m.recall(k, err) },
	'j':  func(m *machine) error { k, err := m.uint(4); return m.recall(k, err) },

	'c':  global,
	0x93: stackGlobal,
	'R':  func(m *machine) error { return m.made(2) },
	0x81: func(m *machine) error { return m.made(2) },
	0x92: func(m *machine) error { return m.made(3) },
	'b':  pop, // BUILD: what is told to an object
	'Q': func(m *machine) error { // BINPERSID
		_, err := m.pop()
		return orPush(m, Opaque{"a persistent object"}, err)
	},
}

func pop(m *machine) error { _, err := m.pop(); return err }

func orPush(m *machine, v any, err error) error {
	if err != nil {
		return err
	}
	return m.push(v)
}

func skip(bytes uint64) func(*machine) error {
	return func(m *machine) error { _, err := m.take(bytes); return err }
}

func constant(v any) func(*machine) error {
	return func(m *machine) error { return m.push(v) }
}

// long reads a whole number in two's complement.
func long(sizeBytes uint64) func(*machine) error {
	return func(m *machine) error {
		b, err := m.counted(sizeBytes)
		if err != nil {
			return err
		}
		if len(b) > 8 {
			return m.push(LongNumber)
		}
		var v int64
		for i := len(b) - 1; i >= 0; i-- {
			if i == len(b)-1 {
				v = int64(int8(b[i]))
			} else {
				v = v<<8 | int64(b[i])
			}
		}
		return m.push(v)
	}
}

func float(m *machine) error {
	b, err := m.take(8)
	if err != nil {
		return err
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

func text(sizeBytes uint64) func(*machine) error {
	return func(m *machine) error { b, err := m.counted(sizeBytes); return orPush(m, string(b), err) }
}

func hidden(sizeBytes uint64, name string) func(*machine) error {
	return func(m *machine) error { _, err := m.counted(sizeBytes); return orPush(m, Opaque{name}, err) }
}

// one passes the last n values on, which are added to what is below them.
func one(add func(*machine, []any) error, n int) func(*machine) error {
	return func(m *machine) error {
		if len(m.stack)-m.floor() <= n {
			return errStack
		}
		split := len(m.stack) - n
		items := append([]any(nil), m.stack[split:]...)
		m.stack = m.stack[:split]
		return add(m, items)
	}
}

// marked passes the values above the last mark on, likewise.
func marked(add func(*machine, []any) error) func(*machine) error {
	return func(m *machine) error {
		items, err := m.popMark()
		if err != nil {
			return err
		}
		return add(m, items)
	}
}

func (m *machine) remember(key uint64, err error) error {
	if err != nil {
		return err
	}
	v, err := m.top()
	if err == nil {
		m.memo[key] = v
	}
	return err
}

func (m *machine) recall(key uint64, err error) error {
	v, ok := m.memo[key]
	if err == nil && !ok {
		err = errStack
	}
	return orPush(m, v, err)
}

// global names a class or a function; it is not looked up.
func global(m *machine) error {
	module, err := m.line()
	if err != nil {
		return err
	}
	name, err := m.line()
	return orPush(m, Opaque{short(module) + "." + short(name)}, err)
}

func stackGlobal(m *machine) error {
	name, err := m.pop()
	if err != nil {
		return err
	}
	module, err := m.pop()
	a, _ := module.(string)
	b, _ := name.(string)
	return orPush(m, Opaque{short(a) + "." + short(b)}, err)
}

// made takes what an object is made of: a class or a function, its arguments, and maybe more.
func (m *machine) made(values int) error {
	if err := m.tuple(values); err != nil {
		return err
	}
	parts, _ := m.pop()
	list := parts.(*List).Items
	return m.object(list[0], list[1])
}
