// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
)

// The key of RFC 8032, 7.1, test 1.
func signer(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	seed, err := hex.DecodeString("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(seed)
}

func signedNoon(t *testing.T) *pb.SignedHead {
	t.Helper()
	head := ledger.Head{Position: 7, Hash: sha256.Sum256([]byte("x"))}
	h, err := SignHead(signer(t), "00000000-0000-4000-8000-000000000001", "team/a", head,
		time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The signed bytes are those that audit.proto describes, written here by hand.
func TestSignedHeadEncoding(t *testing.T) {
	h := signedNoon(t)
	b := []byte("accountant signed head v1\x00")
	text := func(s string) { b = append(append(b, 0, 0, 0, 0, 0, 0, 0, byte(len(s))), s...) }
	text("00000000-0000-4000-8000-000000000001")
	text("team/a")
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 7)
	hash := sha256.Sum256([]byte("x"))
	b = append(b, hash[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(1767355200)*1e9+5) // date -u -d 2026-01-02T12:00 +%s
	public := signer(t).Public().(ed25519.PublicKey)
	b = append(b, public...)
	if !ed25519.Verify(public, b, h.GetSignature()) {
		t.Error("the signature is over other bytes")
	}
}

func TestCheckSignedHead(t *testing.T) {
	trusted := signer(t).Public().(ed25519.PublicKey)
	other, otherKey, err := ed25519.GenerateKey(bytes.NewReader(make([]byte, 64)))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []ed25519.PublicKey{nil, trusted} {
		if err := CheckSignedHead(signedNoon(t), key); err != nil {
			t.Errorf("as it was signed: %v", err)
		}
	}
	if err := CheckSignedHead(signedNoon(t), other); err == nil || !strings.Contains(err.Error(), "public_key: ") {
		t.Errorf("by another key: %v", err)
	}
	for name, change := range map[string]func(h *pb.SignedHead){
		"store_id":   func(h *pb.SignedHead) { h.StoreId = "" },
		"ledger":     func(h *pb.SignedHead) { h.Ledger = "team/b" },
		"no ledger":  func(h *pb.SignedHead) { h.Ledger = "" },
		"position":   func(h *pb.SignedHead) { h.Position-- },
		"head_hash":  func(h *pb.SignedHead) { h.HeadHash[5] ^= 1 },
		"short hash": func(h *pb.SignedHead) { h.HeadHash = h.HeadHash[:31] },
		"time":       func(h *pb.SignedHead) { h.Time.Nanos++ },
		"no time":    func(h *pb.SignedHead) { h.Time = nil },
		"far time": func(h *pb.SignedHead) {
			h.Time = timestamppb.New(time.Date(2300, 1, 1,
				0, 0, 0, 0, time.UTC))
		},
		"another key":    func(h *pb.SignedHead) { h.PublicKey = other },
		"no key":         func(h *pb.SignedHead) { h.PublicKey = nil },
		"signature":      func(h *pb.SignedHead) { h.Signature[0] ^= 1 },
		"no signature":   func(h *pb.SignedHead) { h.Signature = nil },
		"moved boundary": func(h *pb.SignedHead) { h.StoreId += "t"; h.Ledger = h.Ledger[1:] },
		"unknown field":  func(h *pb.SignedHead) { h.ProtoReflect().SetUnknown([]byte{0xa0, 0x06, 0x01}) },
	} {
		for _, key := range []ed25519.PublicKey{nil, trusted} {
			h := proto.Clone(signedNoon(t)).(*pb.SignedHead)
			change(h)
			if err := CheckSignedHead(h, key); err == nil {
				t.Errorf("%s changed: accepted", name)
			}
		}
	}
	if err := CheckSignedHead(nil, trusted); err == nil {
		t.Error("nil accepted")
	}
	forged, err := SignHead(otherKey, "s", "team/a", ledger.Head{}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckSignedHead(forged, trusted); err == nil {
		t.Error("one who signs with a key of their own is trusted")
	}
	if _, err := SignHead(otherKey, "s", "a", ledger.Head{}, time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)); err == nil {
		t.Error("a time without nanoseconds was signed")
	}
}
