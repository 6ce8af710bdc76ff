// SPDX-License-Identifier: Apache-2.0

package packs

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/dpaccountant/accountant/internal/record"
)

// limit and limitBytes bound what Parse takes. They are more than one commit may have.
const (
	limit      = 1 << 20
	limitBytes = 64 << 20
)

// writer is one that has written some of a pack's entries. Its next sequence number and the position of its entry
// before follow from the entry before, except for the first one's, which are kept here.
type writer struct {
	principal uint64 // index
	name      []byte
	sequence  uint64
	before    uint64 // position
}

// appendColumns appends the entries by columns: the texts once, then of each entry the index of its writer, how its
// sequence number and the writer's entry before differ from what follows, the time after the one before, the access
// policy, and the index of the bytes after its frame. ok is false if a frame has another position than the one that
// follows.
func (m *memory) appendColumns(b []byte, first uint64, list [][]byte) (_ []byte, ok bool) {
	n := len(list)
	principals, bodies := &m.principals, &m.bodies
	writers, next := m.writers[:0], m.next[:0]
	defer func() { m.writers, m.next = writers, next }()
	all := take(&m.numbers, 6*n)
	of, sequences, befores, times := all[:n], all[n:2*n], all[2*n:3*n], all[3*n:4*n]
	policies, body := all[4*n:5*n], all[5*n:]
	size, last := 0, uint64(0)
	at, known := 0, false
	for i, raw := range list {
		f, rest := record.SplitEntry(raw)
		if f.Position != first+uint64(i) {
			return nil, false
		}
		size += len(raw)
		principal := principals.index(f.Principal)
		if i > 0 && writers[at].principal == principal && bytes.Equal(writers[at].name, f.Writer) {
			known = true // mostly the writer of the entry before
		} else {
			at, known = m.known[writerKey{principal, string(f.Writer)}]
		}
		if !known {
			at = len(writers)
			w := writer{principal, f.Writer, f.Sequence, f.PreviousOfWriter}
			m.known[writerKey{principal, string(f.Writer)}] = at
			writers, next = append(writers, w), append(next, w)
		}
		w := &next[at]
		of[i] = uint64(at)
		sequences[i], befores[i] = zigzag(f.Sequence-w.sequence), zigzag(f.PreviousOfWriter-w.before)
		w.sequence, w.before = f.Sequence+1, f.Position
		times[i], last = zigzag(f.Nanos-last), f.Nanos
		policies[i], body[i] = f.Policy, bodies.index(rest)
	}
	b = binary.AppendUvarint(b, uint64(size))
	b = principals.append(b)
	b = binary.AppendUvarint(b, uint64(len(writers)))
	for _, w := range writers {
		b = AppendText(binary.AppendUvarint(b, w.principal), w.name)
		b = binary.AppendUvarint(binary.AppendUvarint(b, w.sequence), zigzag(first-w.before))
	}
	b = appendColumn(appendColumn(appendColumn(b, of), sequences), befores)
	b = appendColumn(appendColumn(binary.AppendUvarint(b, times[0]), times[1:]), policies)
	return appendColumn(bodies.append(b), body), true
}

// entries reads what appendColumns has written.
func (r *reader) entries(first uint64, n int, kept *memory) [][]byte {
	size := r.Next()
	principals := r.texts()
	count := r.Next()
	if r.Bad || size > limitBytes || count > uint64(len(r.B)) {
		r.Bad = true
		return nil
	}
	writers := slices.Grow(r.memory.writers[:0], int(count))[:count]
	r.memory.writers = writers
	for i := range writers {
		writers[i] = writer{r.Next(), r.Text(), r.Next(), first - unzigzag(r.Next())}
		r.Bad = r.Bad || writers[i].principal >= uint64(len(principals))
	}
	of, sequences, befores := r.column(n), r.column(n), r.column(n)
	nanos := unzigzag(r.Next())
	times, policies := r.column(n-1), r.column(n)
	bodies := r.texts()
	body := r.column(n)
	if r.Bad {
		return nil
	}
	all, raws := kept.room(int(size)), take(&kept.texts, n)
	for i := range raws {
		if of[i] >= count || body[i] >= uint64(len(bodies)) {
			r.Bad = true
			return nil
		}
		if i > 0 {
			nanos += unzigzag(times[i-1])
		}
		w, rest := &writers[of[i]], bodies[body[i]]
		f := record.Frame[[]byte]{Position: first + uint64(i), Principal: principals[w.principal], Writer: w.name,
			Sequence: w.sequence + unzigzag(sequences[i]), Nanos: nanos,
			PreviousOfWriter: w.before + unzigzag(befores[i]), Policy: policies[i]}
		w.sequence, w.before = f.Sequence+1, f.Position
		start := len(all)
		if all = append(f.Append(all), rest...); len(all) > int(size) {
			r.Bad = true
			return nil
		}
		raws[i] = all[start:len(all):len(all)]
	}
	r.Bad = r.Bad || len(all) != int(size)
	return raws
}

// texts are distinct ones in the order of their first use.
type texts struct {
	list  []string
	known map[string]uint64
	last  uint64 // the index that was found last
}

func newTexts() texts { return texts{known: map[string]uint64{}} }

func (t *texts) clear() {
	clear(t.list)
	t.list, t.last = t.list[:0], 0
	clear(t.known)
}

func (t *texts) index(b []byte) uint64 {
	if len(t.list) > 0 && t.list[t.last] == string(b) { // mostly
		return t.last
	}
	if i, ok := t.known[string(b)]; ok {
		t.last = i
		return i
	}
	i := uint64(len(t.list))
	t.last = i
	t.list = append(t.list, string(b))
	t.known[t.list[i]] = i
	return i
}

func (t *texts) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(t.list)))
	for _, s := range t.list {
		b = AppendText(b, s)
	}
	return b
}

func (r *reader) texts() [][]byte {
	n := r.Next()
	if r.Bad || n > uint64(len(r.B)) {
		r.Bad = true
		return nil
	}
	list := take(&r.memory.texts, int(n))
	for i := range list {
		list[i] = r.Text()
	}
	return list
}

// A column is a byte of 0 and the one value that all have, or a byte of 1 and every value.
func appendColumn(b []byte, values []uint64) []byte {
	if len(values) == 0 {
		return b
	}
	for _, v := range values {
		if v != values[0] {
			b = append(b, 1)
			for _, v := range values {
				b = binary.AppendUvarint(b, v)
			}
			return b
		}
	}
	return binary.AppendUvarint(append(b, 0), values[0])
}

func (r *reader) column(n int) []uint64 {
	if n == 0 || r.Bad {
		return nil
	}
	kind := r.Bytes(1)
	if r.Bad || kind[0] > 1 || kind[0] == 1 && n > len(r.B) {
		r.Bad = true
		return nil
	}
	values := take(&r.memory.numbers, n)
	if kind[0] == 1 {
		for i := range values {
			values[i] = r.Next()
		}
		return values
	}
	one := r.Next()
	for i := range values {
		values[i] = one
	}
	return values
}

// zigzag makes a small number of a small difference in either direction.
func zigzag(difference uint64) uint64 { return difference<<1 ^ uint64(int64(difference)>>63) }

func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// reader reads a pack.
type reader struct {
	Varints
	memory *memory
}
