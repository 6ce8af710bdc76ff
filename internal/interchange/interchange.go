// SPDX-License-Identifier: Apache-2.0

// Package interchange reads and writes what other accountants keep: the event trees
// of Google's dp_accounting (DpEvent) and the histories of Opacus's accountants. It reads the state of Flower's.
//
// What the formats do not say is not guessed: a DpEvent has no adjacency, Opacus's is
// add or remove. What a format cannot express is refused by name. Notes say where a
// convention differs, or where the other side is known to be wrong.
//
// It is a package of its own because formats of others change without us, and nothing else may depend on them.
package interchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Formats by name.
const (
	DPEvent = "dp-event"
	Opacus  = "opacus"
	Flower  = "flower"
)

// Formats are the names of those that can be written. All can be read.
func Formats() []string { return []string{DPEvent, Opacus} }

// Readable are the names of those that can be read.
func Readable() []string { return append(Formats(), Flower) }

// Read makes a workload of a file in a format. adj is required for dp-event; for
// opacus it may be unspecified. Notes are for people. A file that is wrong, or has what
// no mechanism expresses, is a *mechanism.ParameterError with the path to it; what is
// read may still fail wire.ToWorkload.
func Read(format string, data []byte, adj pb.Workload_Adjacency) (w *pb.Workload, notes []string, err error) {
	if len(data) > wire.MaxJSONBytes {
		return nil, nil, bad("file", fmt.Sprintf("%d bytes", len(data)),
			fmt.Sprintf("at most %d bytes", wire.MaxJSONBytes))
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(quoted(data)))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, nil, bad("file", err.Error(), "one JSON value")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, nil, bad("file", "more than one JSON value", "one")
	}
	switch format {
	case DPEvent:
		return readDPEvent(value, adj)
	case Opacus:
		return readOpacus(value, adj)
	case Flower:
		return readFlower(value, adj)
	}
	return nil, nil, noFormat(format, Readable())
}

// Python's json.dump writes numbers that JSON does not have as these words, without
// quotes.
const (
	infinity    = "Infinity"
	negInfinity = "-Infinity"
	notANumber  = "NaN"
)

// nonFinite matches those words, and strings, in which they are left alone.
var nonFinite = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)
})

// quoted puts them in quotes, so that the file can be read and the field that has one
// can be named.
func quoted(data []byte) []byte {
	return nonFinite().ReplaceAllFunc(data, func(word []byte) []byte {
		if word[0] == '"' {
			return word
		}
		return fmt.Appendf(nil, "%q", word)
	})
}

// Write writes a workload, which must be valid, in a format. What that cannot express
// is an error that names all of it.
func Write(format string, c mechanism.Composition) (data []byte, notes []string, err error) {
	switch format {
	case DPEvent:
		return writeDPEvent(c)
	case Opacus:
		return writeOpacus(c)
	}
	return nil, nil, noFormat(format, Formats())
}

func noFormat(name string, formats []string) error {
	return bad("format", fmt.Sprintf("%q", name), strings.Join(formats, ", "))
}

func bad(field, value, allowed string) error {
	return &mechanism.ParameterError{Field: field, Value: value, Allowed: allowed}
}

// events collects what is read; equal neighbours become one.
type events []*pb.Event

func (e *events) add(m *pb.Mechanism, count uint64) {
	for count > 0 {
		if n := len(*e); n > 0 && proto.Equal((*e)[n-1].Mechanism, m) && (*e)[n-1].Count < math.MaxUint32 {
			room := min(count, uint64(math.MaxUint32-(*e)[n-1].Count))
			(*e)[n-1].Count += uint32(room)
			count -= room
			continue
		}
		part := min(count, math.MaxUint32)
		*e = append(*e, &pb.Event{Mechanism: m, Count: uint32(part)})
		count -= part
	}
}

// toNumber and toCount read JSON numbers.
func toNumber(path string, v any) (float64, error) {
	if v == infinity || v == negInfinity || v == notANumber {
		return 0, bad(path, fmt.Sprint(v), "a finite number")
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, bad(path, text(v), "a number")
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return 0, bad(path, string(n), "a number that a float64 holds")
	}
	return f, nil
}

func toCount(path string, v any) (uint64, error) {
	if _, err := toNumber(path, v); err != nil {
		return 0, err
	}
	// By its digits, since a float64 near a whole number may be that one. Python writes 5.0, and nobody 5e0.
	digits, fraction, _ := strings.Cut(fmt.Sprint(v), ".")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n > 1<<53 || strings.Trim(fraction, "0") != "" {
		return 0, bad(path, text(v), "a whole number from 0 to 2^53")
	}
	return n, nil
}

// text is a value in a message, not too long.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "no JSON"
	}
	if len(b) > 40 {
		return string(b[:40]) + "…"
	}
	return string(b)
}

// ratioDown is σ/Δ rounded down: less noise than was used is never claimed.
func ratioDown(sigma, sensitivity float64) float64 {
	q := sigma / sensitivity
	if math.FMA(q, sensitivity, -sigma) > 0 {
		q = math.Nextafter(q, 0)
	}
	return q
}

// unwritable lists what a format has no word for.
type unwritable []string

func (u *unwritable) add(m mechanism.Mechanism, why string) {
	*u = append(*u, fmt.Sprintf("%v: %s", m, why))
}

func (u unwritable) err(format string) error {
	if len(u) == 0 {
		return nil
	}
	return bad("workload", strings.Join(u, "; "), "what "+format+" can express")
}
