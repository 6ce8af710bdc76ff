// SPDX-License-Identifier: Apache-2.0

package record

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// digestTag separates these hashes from all others. Its version counts the
// encoding below: another encoding gets another tag, never the same one.
const digestTag = "accountant request digest v1\x00"

// Digest is SHA-256 over a domain tag with a version and the canonical encoding
// of what an action asks (wire.AppendAsked). Equal actions have equal digests and
// distinct ones distinct encodings. It does not depend on protobuf.
func Digest(v ledger.Action) ledger.Digest {
	return sha256.Sum256(wire.AppendAsked(append(make([]byte, 0, 512), digestTag...), v)) // most encodings fit
}

// DigestOf is Digest of an action that is done by an approval; nil if one person does it. What the proposal
// proposes is part of the encoding, and so is the comment; whose it is, and who approves it, follows.
func DigestOf(v ledger.Action, by *ledger.Approval) ledger.Digest {
	if by == nil {
		return Digest(v)
	}
	b := append(append(make([]byte, 0, 512), digestTag...), "approved\x00"...)
	b = binary.BigEndian.AppendUint64(b, by.Proposal)
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(by.Comment))), by.Comment...)
	return sha256.Sum256(wire.AppendAsked(b, v))
}
