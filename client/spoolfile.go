// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/durable"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// spoolFile is the file of a share: a line for each thing that happened, each synced before anybody hears of it. A line
// is a checksum and JSON. One process at a time reads and appends, under a lock on the file. A last line that is not
// whole was never heard of, and is cut off; one that lacks only its end counts. Any other damage is an error, as
// something spent may be missing.
type spoolFile struct {
	path string

	mu       sync.Mutex
	size     int64 // of the lines that were read
	latest   time.Time
	taken    spoolTaken
	reserved *spoolReserved
	spent    []*spoolSpent
	byKey    map[string]*spoolSpent
	first    int // all before it are delivered
	rest     ledger.Reservation
	closed   bool
	broken   error // a write that failed: what the disk has is known when the file is opened again
}

// spoolLine has exactly one of its parts beside the time.
type spoolLine struct {
	Time      time.Time
	Taken     *spoolTaken     `json:",omitempty"`
	Reserved  *spoolReserved  `json:",omitempty"`
	Spent     *spoolSpent     `json:",omitempty"`
	Delivered *spoolDelivered `json:",omitempty"`
	Closed    bool            `json:",omitempty"`
}

// spoolTaken is what is to be set aside; encoded messages are in protobuf.
type spoolTaken struct {
	Ledger, Key string
	Reserve     []byte
	Adjacency   mechanism.Adjacency
	Time        time.Time `json:"-"` // of its line, by this machine's clock
}

func (t spoolTaken) equal(o spoolTaken) bool {
	return t.Ledger == o.Ledger && t.Adjacency == o.Adjacency && bytes.Equal(t.Reserve, o.Reserve)
}

// spoolReserved is the reservation, and until when its share may be spent, by this machine's clock.
type spoolReserved struct {
	Position uint64
	Until    time.Time
}

// spoolSpent is a charge. Its random key has it written once, and tells it from an equal one of a copy of the file.
type spoolSpent struct {
	Key    string
	Commit []byte

	events    []mechanism.Event
	delivered *spoolDelivered
}

type spoolDelivered struct {
	Keys    []string
	Receipt []byte
	Late    bool
}

func encode(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil { // only text that is not UTF-8, which the daemon refuses, too
		return nil
	}
	return b
}

// make makes the file with its first line, or reads the one that is there.
func (f *spoolFile) make(t spoolTaken) error {
	made, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		err = errors.Join(made.Close(), durable.SyncDirectory(filepath.Dir(f.path)))
	case errors.Is(err, os.ErrExist):
		err = nil
	}
	if err != nil {
		return err
	}
	return f.with(func(file *os.File) error {
		is, err := file.Stat()
		switch {
		case err != nil || f.size > 0:
			return err
		case is.Size() > 0: // somebody else's, or cut off before anything was asked for
			return fmt.Errorf("%s: is no share; allowed: a new file", f.path)
		}
		return f.append(file, spoolLine{Taken: &t})
	})
}

// read reads what other processes have added.
func (f *spoolFile) read() error { return f.with(func(*os.File) error { return nil }) }

// change appends the line that next returns, or fails with its error and changes nothing.
func (f *spoolFile) change(next func() (spoolLine, error)) error {
	return f.with(func(file *os.File) error {
		line, err := next()
		if err != nil {
			return err
		}
		return f.append(file, line)
	})
}

// with calls do with the file, locked and read to its end.
func (f *spoolFile) with(do func(*os.File) error) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != nil {
		return f.broken
	}
	file, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }() // which unlocks it
	if err := durable.Lock(file); err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if _, err := file.Seek(f.size, io.SeekStart); err != nil {
		return err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	for len(content) > 0 {
		end := bytes.IndexByte(content, '\n')
		if end < 0 {
			if end = unended(content); end < 0 {
				break // never heard of
			}
			if _, err := file.WriteAt([]byte{'\n'}, f.size+int64(end)); err != nil {
				return err
			}
		}
		if err := f.readLine(content[:end]); err != nil {
			f.broken = fmt.Errorf("%s: byte %d: damaged: %w; allowed: to let the reservation end, which charges all "+
				"of it", f.path, f.size, err)
			return f.broken
		}
		content, f.size = content[min(end+1, len(content)):], f.size+int64(end)+1
	}
	return do(file)
}

// unended is the length of a line without a newline that has its checksum; −1 if there is none. It may have been
// acknowledged, if the newline is damaged, so it counts.
func unended(content []byte) int {
	for _, end := range []int{len(content), len(content) - 1} {
		if _, err := checked(content[:end]); err == nil {
			return end
		}
	}
	return -1
}

// checked is a line without its checksum, which it must have.
func checked(line []byte) ([]byte, error) {
	var sum uint32
	if len(line) < 9 {
		return nil, errors.New("a line without a checksum")
	}
	_, err := fmt.Sscanf(string(line[:9]), "%08x ", &sum)
	if err != nil || sum != crc32.Checksum(line[9:], castagnoli) {
		return nil, errors.New("a line that does not have its checksum")
	}
	return line[9:], nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// append adds a line and syncs it, and then counts it.
func (f *spoolFile) append(file *os.File, line spoolLine) error {
	line.Time = f.now()
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	text = fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text)
	err = file.Truncate(f.size)
	if err == nil {
		_, err = file.WriteAt(text, f.size)
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		f.broken = fmt.Errorf("%s: it is unknown whether this was written: %w; open the file again", f.path,
			errors.Join(err, file.Truncate(f.size)))
		return f.broken
	}
	if err := f.readLine(text[:len(text)-1]); err != nil {
		f.broken = err
		return err
	}
	f.size += int64(len(text))
	return nil
}

// now is this machine's time, or that of the last line: a clock that was set back wins nothing.
func (f *spoolFile) now() time.Time {
	if now := time.Now(); now.After(f.latest) {
		return now.Round(0)
	}
	return f.latest
}

// undelivered is the first charge that was not delivered; nil if there is none.
func (f *spoolFile) undelivered() *spoolSpent {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; f.first < len(f.spent); f.first++ {
		if f.spent[f.first].delivered == nil {
			return f.spent[f.first]
		}
	}
	return nil
}

// withoutEntry lists the charges that have no entries of their own, with all their events.
func (f *spoolFile) withoutEntry() (keys []string, events []mechanism.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.spent {
		if x.delivered == nil || x.delivered.Late {
			keys, events = append(keys, x.Key), append(events, x.events...)
		}
	}
	return keys, events
}

// readLine follows a line.
func (f *spoolFile) readLine(text []byte) error {
	text, err := checked(text)
	if err != nil {
		return err
	}
	var line spoolLine
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	if line.Time.After(f.latest) {
		f.latest = line.Time
	}
	switch {
	case line.Taken != nil && f.size == 0:
		return f.took(*line.Taken, line.Time)
	case line.Reserved != nil:
		f.reserved = line.Reserved
	case line.Spent != nil:
		return f.spend(line.Spent)
	case line.Delivered != nil:
		for _, key := range line.Delivered.Keys {
			if x := f.byKey[key]; x != nil {
				x.delivered = line.Delivered
			}
		}
	case line.Closed:
		f.closed = true
	default:
		return errors.New("a line that this version does not know")
	}
	return nil
}

func (f *spoolFile) took(t spoolTaken, at time.Time) error {
	m := new(pb.Reserve)
	if err := proto.Unmarshal(t.Reserve, m); err != nil {
		return err
	}
	v, err := wire.To[ledger.Reserve]("reserve", t.Adjacency, m)
	t.Time = at
	f.taken, f.rest = t, ledger.Reservation{Rest: mechanism.Merge(v.Events)}
	return err
}

// spend takes a charge from the rest as the ledger will, by the same code.
func (f *spoolFile) spend(x *spoolSpent) error {
	m := new(pb.Commit)
	if err := proto.Unmarshal(x.Commit, m); err != nil {
		return err
	}
	v, err := wire.To[ledger.Commit]("commit", f.taken.Adjacency, m)
	if err != nil {
		return err
	}
	rest, wrong, _ := f.rest.Without(v.Events)
	if wrong >= 0 {
		return errors.New("more was spent than the share has")
	}
	if f.byKey == nil {
		f.byKey = map[string]*spoolSpent{}
	}
	x.events = v.Events
	f.rest, f.spent, f.byKey[x.Key] = rest, append(f.spent, x), x
	return nil
}
