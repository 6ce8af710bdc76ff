// SPDX-License-Identifier: Apache-2.0

package record

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// MarshalMechanism makes the bytes of a descriptor (accountant.v1.Mechanism),
// the same for equal descriptors.
func MarshalMechanism(m mechanism.Mechanism) ([]byte, error) {
	if err := wire.CheckMechanism(m); err != nil {
		return nil, err
	}
	return marshal(wire.FromMechanism(m))
}

// UnmarshalMechanism is the inverse of MarshalMechanism. Unknown fields and
// values outside their ranges are ledger.ErrDamaged.
func UnmarshalMechanism(b []byte) (mechanism.Mechanism, error) {
	var r pb.Mechanism
	if err := proto.Unmarshal(b, &r); err != nil {
		return nil, damaged("mechanism", err)
	}
	m, err := wire.ToMechanism(&r)
	if err != nil {
		return nil, damaged("mechanism", err)
	}
	return m, nil
}
