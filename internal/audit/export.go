// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// LineError says which line of an export cannot be read.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what was wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

// Export goes through what accountctl ledger entries --raw --output jsonl has written: a
// line with the genesis, then a line an entry, all of them from the first on. Each
// entry must be shown as its stored bytes say. It calls done after each entry. If
// there are refunds, in must be an io.Seeker, to be read a second time. Errors:
// *Finding, *LineError, the reader's and done's own.
func Export(in io.Reader, kept map[string][]Witness, done func(entries uint64) error) (*Replay, error) {
	r, err := lines(in, nil, kept, done)
	if err != nil {
		return r, err
	}
	if r == nil {
		return nil, &LineError{1, errors.New("nothing; allowed: the genesis first, as accountctl ledger entries " +
			"--raw --output jsonl writes it")}
	}
	if err := r.End(); err != nil {
		return r, err
	}
	second := r.Again()
	if second == nil {
		return r, nil
	}
	seeker, ok := in.(io.Seeker)
	if ok {
		_, err = seeker.Seek(0, io.SeekStart)
	}
	if !ok || err != nil {
		return r, fmt.Errorf("ledger %s has refunds, for which its entries are read twice; allowed: a file, no pipe",
			r.Name())
	}
	if _, err := lines(in, second, nil, done); err != nil {
		return r, err
	}
	return r, second.End()
}

// lines reads all lines; the second time, with r set, only the entries.
func lines(in io.Reader, r *Replay, kept map[string][]Witness, done func(entries uint64) error) (*Replay, error) {
	buffered, twice := bufio.NewReaderSize(in, 64<<10), r != nil
	for n := 1; ; n++ {
		line, err := readLine(buffered)
		switch {
		case errors.Is(err, io.EOF):
			return r, nil
		case err == nil && !(twice && n == 1):
			r, err = exported(r, line, kept)
		}
		if err != nil {
			if _, found := err.(*Finding); found { //nolint:errorlint // exported does not wrap it
				return r, err
			}
			return r, &LineError{n, err}
		}
		if r == nil {
			continue
		}
		if err := done(r.head.Position); err != nil {
			return r, err
		}
	}
}

// exported takes one line: the genesis if r is nil, otherwise an entry.
func exported(r *Replay, line []byte, kept map[string][]Witness) (*Replay, error) {
	if r == nil {
		first := &pb.ListEntriesResponse{}
		if err := wirejson.Unmarshal(line, first); err != nil {
			return nil, fmt.Errorf("%w (the first line has the genesis, as accountctl ledger entries --raw --output "+
				"jsonl writes it)", err)
		}
		if len(first.GetGenesis()) == 0 || len(first.GetEntries()) > 0 {
			return nil, errors.New("genesis: missing, or with entries; allowed: the genesis alone, as accountctl " +
				"entries --raw --output jsonl writes it")
		}
		return Begin(first.GetGenesis(), kept)
	}
	e := &pb.Entry{}
	if err := wirejson.Unmarshal(line, e); err != nil {
		return r, err
	}
	if len(e.GetRaw()) == 0 {
		return r, errors.New("raw: missing; allowed: entries with their stored bytes (--raw)")
	}
	record, err := r.NextRaw(e.GetRaw())
	if err != nil {
		return r, err
	}
	return r, r.Served(record, e)
}

// readLine returns the next line without its end, or io.EOF. A line is at most
// what wirejson.Unmarshal takes, and is valid until the next call.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(line) <= wire.MaxJSONBytes {
			var more []byte
			more, err = in.ReadSlice('\n')
			line = append(line, more...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, fmt.Errorf("over %d bytes; allowed: at most that", wire.MaxJSONBytes)
		}
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}
