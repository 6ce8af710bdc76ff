// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/persist/packs"
)

// What an archive has is noted beside the store, so that a start need not read all of it. The note names the segment
// after which it was written, with the SHA-256 of that one's file, so it is of use for this archive alone, and those
// that came later are read. Without it all segments are.

// id stands for a ledger's name, of which there may be a million.
type id [16]byte

func idOf(name string) id {
	sum := sha256.Sum256([]byte(name))
	return id(sum[:])
}

// state is what is known of an archive.
type state struct {
	number   uint64 // of the newest segment
	previous []byte // SHA-256 of its file
	complete bool   // the newest segment is
	known    map[id]persist.Seen
}

const (
	noteName  = "archive"
	noteMagic = "accountant archive note 1\n"
	// seenBytes is about how long the note is for each ledger. It is written again when as much was added to the
	// archive, so that it costs no more than that.
	seenBytes = len(id{}) + len(persist.Seen{}.Hash) + 4
)

// note makes one of an archive, which is that of a store in a place.
func (s state) note(store, place string, sealed blobs.Prints) []byte {
	var b []byte
	for _, text := range [...]string{store, place, string(sealed), string(s.previous)} {
		b = packs.AppendText(b, text)
	}
	b = binary.AppendUvarint(b, s.number)
	if b = append(b, 0); s.complete {
		b[len(b)-1] = 1
	}
	for ledger, at := range s.known {
		b = append(binary.AppendUvarint(append(b, ledger[:]...), at.Position), at.Hash[:]...)
	}
	sum := sha256.Sum256(b)
	return append(append([]byte(noteMagic), sum[:]...), b...)
}

// parseNote reads a note, if it is a whole one of that archive.
func parseNote(note []byte, store, place string) (s state, sealed blobs.Prints, ok bool) {
	b, found := bytes.CutPrefix(note, []byte(noteMagic))
	if !found || len(b) < sha256.Size {
		return s, "", false
	}
	sum := sha256.Sum256(b[sha256.Size:])
	if !bytes.Equal(sum[:], b[:sha256.Size]) {
		return s, "", false
	}
	r := packs.Varints{B: b[sha256.Size:]}
	if string(r.Text()) != store || string(r.Text()) != place {
		return s, "", false
	}
	sealed = blobs.Prints(r.Text())
	s = state{previous: r.Text(), number: r.Next(), known: map[id]persist.Seen{}}
	s.complete = r.Next() == 1
	for len(r.B) > 0 && !r.Bad {
		var ledger id
		var at persist.Seen
		copy(ledger[:], r.Bytes(uint64(len(ledger))))
		at.Position = r.Next()
		copy(at.Hash[:], r.Bytes(uint64(len(at.Hash))))
		s.known[ledger] = at
	}
	return s, sealed, !r.Bad && s.number > 0
}
