// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"testing"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/server/gate"
)

// TestDeniedKeepsOtherErrors: a daemon that has not heard of the newest policy for a while, because it was stopped
// in the middle of a call, says so. It does not say that the policy forbids the call, after which nobody tries again.
func TestDeniedKeepsOtherErrors(t *testing.T) {
	for _, asked := range []*ledger.NameRange{nil, {Prefix: "a"}} {
		err := (&several{lane: &pb.Lane{}}).denied(asked, gate.ErrDeaf)
		if !errors.Is(err, gate.ErrDeaf) || errors.Is(err, gate.ErrDenied) {
			t.Errorf("range %v: %v; want %v", asked, err, gate.ErrDeaf)
		}
		if err := (&several{lane: &pb.Lane{}}).denied(asked, gate.ErrDenied); !errors.Is(err, gate.ErrDenied) {
			t.Errorf("range %v: %v; want %v", asked, err, gate.ErrDenied)
		}
	}
}
