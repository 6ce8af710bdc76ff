// SPDX-License-Identifier: Apache-2.0

// Package signing signs heads of ledgers, and reads and makes the files of keys that do.
package signing

import (
	"crypto/ed25519"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Signer signs heads with a key for as long as the store is bound to it.
type Signer struct {
	// Key signs. Nil: heads are not signed.
	Key ed25519.PrivateKey
	// Newest returns the fingerprint of the key that the store is bound to. Where several daemons serve a store, it may
	// have been replaced while this one could not reach the store. Nil: nobody replaces it while this process runs.
	Newest func() (Fingerprint, error)
}

// Sign makes the statement that a ledger of a store has this head now. It returns UNAVAILABLE if the store is bound to
// another key by now: the key of this process may have been replaced because somebody else has it.
func (s Signer) Sign(store, name string, head ledger.Head) (*pb.SignedHead, error) {
	now := time.Now() // before it is asked which key signs, so no head has a later time than its key
	if s.Newest != nil {
		newest, err := s.Newest()
		if err != nil {
			return nil, err
		}
		own, err := FingerprintOf(s.Key)
		if err != nil {
			return nil, err
		}
		if newest != own {
			return nil, status.Errorf(codes.Unavailable, "signed head: the key of this daemon, %x, was replaced, and "+
				"heads of store %s are signed with the key %x; allowed: ask a daemon that has it; this one must be "+
				"restarted with it (docs/fleet.md)", own, store, newest)
		}
	}
	return wire.SignHead(s.Key, store, name, head, now)
}
