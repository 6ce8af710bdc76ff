// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

const (
	// Journals is how many journals a store has at most.
	Journals = 16

	// SetLane is the name of the lane in which the daemon writes a principal's parts of sets into members. It
	// numbers them itself, so however many keys the principal uses, a member has one lane for them. No
	// user's lane has this name.
	SetLane = "set"

	journalPrefix = "system:sets/"
)

// JournalName is the name of the journal with this number, from 0 to Count − 1.
func JournalName(number uint8) string { return journalPrefix + strconv.FormatUint(uint64(number), 16) }

// JournalNumber returns the number of the journal with this name.
func JournalNumber(name string) (number uint8, ok bool) {
	digit, is := strings.CutPrefix(name, journalPrefix)
	if !is || len(digit) != 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(digit, 16, 8)
	return uint8(n), err == nil && JournalName(uint8(n)) == name
}

// JournalOf returns the number of the journal in which the sets of a writer with this name are written down. It
// does not depend on the writer's principal, so that a request that comes again from another one is found.
func JournalOf(writer string) uint8 { return sha256.Sum256([]byte(writer))[0] % Journals }

// NameRange stands for the ledgers whose names begin with Prefix, from Prefix + First to Prefix + Last in the
// order of bytes; without First or Last there is no such bound.
type NameRange struct {
	Prefix string `field:"1"`
	First  string `field:"2"`
	Last   string `field:"3"`
}

// Contains reports whether a name is in the range. Only names that users give can be in it: those of datasets'
// records and of the daemon's own ledgers have a colon.
func (r NameRange) Contains(name string) bool {
	rest, is := strings.CutPrefix(name, r.Prefix)
	return is && rest >= r.First && !r.IsBefore(name) && !strings.Contains(rest, ":")
}

// IsBefore reports whether the range ends before a name that begins with its prefix.
func (r NameRange) IsBefore(name string) bool { return r.Last != "" && name > r.Prefix+r.Last }

// After returns a text that comes after every name with the prefix that is below the range, and before every
// name in it.
func (r NameRange) After() string {
	if r.First == "" {
		return ""
	}
	first := r.Prefix + r.First
	end := len(first) - 1
	return first[:end] + string(first[end]-1) + "\xff"
}

// String names the range for people.
func (r NameRange) String() string {
	text := fmt.Sprintf("with the prefix %q", r.Prefix)
	if r.First != "" {
		text += fmt.Sprintf(" from %q", r.Prefix+r.First)
	}
	if r.Last != "" {
		text += fmt.Sprintf(" to %q", r.Prefix+r.Last)
	}
	return text
}

// Unverified begins the principal of a caller that said who it is, where nothing
// proves that.
const Unverified = "unverified:"

// OwnSocket says in a refusal how to reach the daemon's own socket. The server puts the real
// path in its place.
const OwnSocket = "--server unix:DIR/accountant.sock"

// AccessLedger is the name of the ledger that says by which access policy the daemon has decided
// since when. No name that a user may give has a colon. It takes policies and nothing else.
const AccessLedger = systemPrefix + "access"

// systemPrefix begins the names of the ledgers that are the daemon's own.
const systemPrefix = "system:"

// IsSystem reports whether a ledger is the daemon's own: the one that keeps access policies, or a
// journal. No name that a user may give has a colon.
func IsSystem(name string) bool { return strings.HasPrefix(name, systemPrefix) }
