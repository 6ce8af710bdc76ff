// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// signedHeadTag separates these signatures from all others. Its version counts the
// encoding of signedHead.
const signedHeadTag = "accountant signed head v1\x00"

// SignHead makes the statement that a ledger of a store had this head at a time,
// to the nanosecond from 1678 to 2262.
func SignHead(key ed25519.PrivateKey, storeID, name string, head ledger.Head, at time.Time) (*pb.SignedHead, error) {
	nanos, err := Nanos(at)
	if err != nil {
		return nil, err
	}
	h := &pb.SignedHead{
		StoreId: storeID, Ledger: name, Position: head.Position, HeadHash: head.Hash[:],
		Time: timestamppb.New(at), PublicKey: key.Public().(ed25519.PublicKey),
	}
	h.Signature = ed25519.Sign(key, signedHead(h, nanos))
	return h, nil
}

// CheckSignedHead returns nil if h was signed with the key of trusted. If trusted
// is nil it is checked with the key in h: then h agrees with itself, but nothing
// says whose it is.
func CheckSignedHead(h *pb.SignedHead, trusted ed25519.PublicKey) error {
	switch {
	case len(h.GetPublicKey()) != ed25519.PublicKeySize:
		return Invalid("public_key", fmt.Sprintf("%d bytes", len(h.GetPublicKey())),
			fmt.Sprintf("%d bytes", ed25519.PublicKeySize))
	case len(h.GetHeadHash()) != len(ledger.Hash{}):
		return Invalid("head_hash", fmt.Sprintf("%d bytes", len(h.GetHeadHash())),
			fmt.Sprintf("%d bytes", len(ledger.Hash{})))
	case trusted != nil && !bytes.Equal(h.GetPublicKey(), trusted):
		return Invalid("public_key", fmt.Sprintf("%x", h.GetPublicKey()),
			fmt.Sprintf("%x, the trusted one", []byte(trusted)))
	}
	if err := RejectUnknown(h); err != nil {
		return err
	}
	if err := CheckLedgerName("ledger", h.GetLedger()); err != nil {
		return err
	}
	if err := h.GetTime().CheckValid(); err != nil {
		return Invalid("time", err.Error(), "a time")
	}
	nanos, err := Nanos(h.GetTime().AsTime())
	if err != nil {
		return err
	}
	if !ed25519.Verify(h.GetPublicKey(), signedHead(h, nanos), h.GetSignature()) {
		return Invalid("signature", fmt.Sprintf("%x", h.GetSignature()),
			"a signature of this statement by the key in public_key")
	}
	return nil
}

// signedHead is what is signed: every value has a fixed width or its length before it.
func signedHead(h *pb.SignedHead, nanos int64) []byte {
	b := append(make([]byte, 0, 256), signedHeadTag...)
	b = AppendText(b, h.GetStoreId())
	b = AppendText(b, h.GetLedger())
	b = binary.BigEndian.AppendUint64(b, h.GetPosition())
	b = append(b, h.GetHeadHash()...)
	b = binary.BigEndian.AppendUint64(b, uint64(nanos))
	return append(b, h.GetPublicKey()...)
}
