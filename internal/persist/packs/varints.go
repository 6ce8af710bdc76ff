// SPDX-License-Identifier: Apache-2.0

package packs

import (
	"encoding/binary"
	"errors"
)

// Varints reads numbers and texts one after the other.
type Varints struct {
	B   []byte // that are left
	Bad bool   // it was asked for more than there is
}

// Next reads a number.
func (r *Varints) Next() uint64 {
	v, n := binary.Uvarint(r.B)
	if n <= 0 {
		r.Bad = true
		return 0
	}
	r.B = r.B[n:]
	return v
}

// Bytes reads so many bytes.
func (r *Varints) Bytes(n uint64) []byte {
	if r.Bad || n > uint64(len(r.B)) {
		r.Bad = true
		return nil
	}
	b := r.B[:n:n]
	r.B = r.B[n:]
	return b
}

// Text reads as many bytes as the number before them says.
func (r *Varints) Text() []byte { return r.Bytes(r.Next()) }

// End returns an error unless exactly all bytes were read.
func (r *Varints) End() error {
	if r.Bad || len(r.B) > 0 {
		return errors.New("the numbers are cut short, out of range or too many")
	}
	return nil
}

// AppendText appends a text as Text reads it.
func AppendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}
