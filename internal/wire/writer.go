// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// ToWriter makes a writer of its principal and its name: a UUID as canonical
// lower-case text, not the nil UUID, or "request/X" where X is 1 to 128 bytes of
// [A-Za-z0-9._-].
func ToWriter(principal, name string) (ledger.Writer, error) {
	w := ledger.Writer{Principal: principal, Name: name}
	return w, checkWriter(w)
}

func checkWriter(w ledger.Writer) error {
	if err := CheckPrincipal(w.Principal); err != nil {
		return err
	}
	if IsUUID(w.Name) || isRequestKey(w.Name) {
		return nil
	}
	const allowed = `a random UUID in lower case, or "request/X" with X of 1 to 128 bytes of [A-Za-z0-9._-]`
	if w.Name == "" {
		return Absent("writer", allowed)
	}
	return Invalid("writer", Quote(w.Name), allowed)
}

func isRequestKey(name string) bool {
	key, ok := strings.CutPrefix(name, ledger.RequestPrefix)
	if !ok || key == "" || len(key) > maxRequestKey {
		return false
	}
	for i := 0; i < len(key); i++ {
		if c := key[i]; !isNameByte(c) && !('A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

// CheckPrincipal accepts 1 to 256 bytes of text.
func CheckPrincipal(principal string) error {
	if principal == "" {
		return Absent("principal", "1 to 256 bytes")
	}
	return checkText("principal", principal, maxText)
}

// IsPrincipal reports whether s can be a principal that was proven: 1 to 256 bytes
// of printable text.
func IsPrincipal(s string) bool {
	return CheckPrincipal(s) == nil && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// PrincipalAllowed says what IsGivenPrincipal accepts.
const PrincipalAllowed = "1 to 128 bytes of [A-Za-z0-9._@-]"

// IsGivenPrincipal reports whether a client may say that it is this principal.
func IsGivenPrincipal(s string) bool {
	if s == "" || len(s) > maxGivenPrincipal {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isNameByte(c) && !('A' <= c && c <= 'Z') && c != '@' {
			return false
		}
	}
	return true
}

// CheckSequence refuses 0, and all but 1 in the lane of a "request/X": that is
// the key of one charge.
func CheckSequence(w ledger.Writer, sequence uint64) error {
	switch {
	case w.Single() && sequence != 1:
		return Invalid("sequence", fmt.Sprint(sequence), `1 with the writer "request/X"`)
	case sequence == 0:
		return Invalid("sequence", "missing or 0", "a whole number ≥ 1")
	}
	return nil
}

// CheckStreamWriter refuses "request/X" as the writer of a stream.
func CheckStreamWriter(w ledger.Writer) error {
	if !IsUUID(w.Name) {
		return Invalid("open.writer", Quote(w.Name), "a random UUID in lower case")
	}
	return nil
}
