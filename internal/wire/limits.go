// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/ledger"
)

const (
	// MaxRequestBytes bounds one request message, in bytes of protobuf.
	MaxRequestBytes = 512 << 10
	// MaxJSONBytes bounds one JSON document that is read.
	MaxJSONBytes = 4 << 20
	// MaxChargeEvents bounds the events of one charge.
	MaxChargeEvents = 1000
	// MaxWorkloadEvents bounds the events of one workload.
	MaxWorkloadEvents = 10000

	maxLabels     = 16
	maxName       = 255
	maxSegment    = 63
	maxUnit       = 64
	maxText       = 256
	maxReason     = 1024
	maxRequestKey = 128

	maxGivenPrincipal = 128
)

// CheckSize refuses a request over MaxRequestBytes.
func CheckSize(m proto.Message) error {
	if n := proto.Size(m); n > MaxRequestBytes {
		return Invalid("request", fmt.Sprintf("%d bytes", n), fmt.Sprintf("at most %d bytes", MaxRequestBytes))
	}
	return nil
}

// checkText accepts valid UTF-8 of at most limit bytes, the empty text too.
func checkText(field, s string, limit int) error {
	if len(s) > limit {
		return Invalid(field, Quote(s), fmt.Sprintf("at most %d bytes", limit))
	}
	if !utf8.ValidString(s) {
		return Invalid(field, Quote(s), "valid UTF-8")
	}
	return nil
}

const nameAllowed = `segments [a-z0-9][a-z0-9._-]{0,62} joined by "/", at most 255 bytes, such as team/mnist`

// CheckLedgerName accepts the names a ledger can have: segments
// [a-z0-9][a-z0-9._-]{0,62} joined by "/", at most 255 bytes.
//
// It also accepts the name of a dataset's record, "dataset:" and the dataset's identifier in
// the one spelling that stands for all: what is asked about a ledger may be asked about a
// dataset.
func CheckLedgerName(field, name string) error {
	if id, ok := strings.CutPrefix(name, ledger.DatasetsPrefix); ok {
		if id == "" || len(name) > maxName || !utf8.ValidString(name) || ledger.DatasetName(id) != name {
			return Invalid(field, Quote(name),
				`"dataset:" and a dataset's identifier in small letters without white space`)
		}
		return nil
	}
	if name == "" {
		return Absent(field, nameAllowed)
	}
	if _, journal := ledger.JournalNumber(name); journal || name == ledger.AccessLedger {
		return nil
	}
	ok := len(name) <= maxName
	for rest, more := name, ok; ok && more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		ok = isSegment(segment)
	}
	if !ok {
		return Invalid(field, Quote(name), nameAllowed)
	}
	return nil
}

// CheckPrefix accepts what a ledger's name can start with, and the empty prefix.
func CheckPrefix(field, prefix string) error {
	ok := len(prefix) <= maxName
	for i := 0; ok && i < len(prefix); i++ {
		ok = isNameByte(prefix[i]) || prefix[i] == '/'
	}
	if !ok {
		return Invalid(field, Quote(prefix), "the beginning of a ledger's name: "+nameAllowed)
	}
	return nil
}

// isSegment is [a-z0-9][a-z0-9._-]{0,62}.
func isSegment(s string) bool {
	if s == "" || len(s) > maxSegment || !isLowerAlphanumeric(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

func isLowerAlphanumeric(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func isNameByte(c byte) bool { return isLowerAlphanumeric(c) || c == '.' || c == '_' || c == '-' }

// IsUUID accepts the canonical text 8-4-4-4-12 in lower case. The nil UUID is
// none: it is what a client sends that forgot to make one, and two such clients
// would share a lane.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	zero := true
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
				return false
			}
			zero = zero && c == '0'
		}
	}
	return !zero
}
