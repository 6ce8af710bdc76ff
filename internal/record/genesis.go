// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	recordv1 "github.com/dpaccountant/accountant/gen/accountant/record/v1"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

// MarshalGenesis makes the bytes of the first record of a ledger's chain
// (accountant.record.v1.Genesis).
func MarshalGenesis(g ledger.Genesis) ([]byte, error) {
	nanos, err := wire.Nanos(g.Time)
	if err == nil {
		err = checkGenesis(g)
	}
	if err != nil {
		return nil, fmt.Errorf("genesis of ledger %s: %w", wire.Quote(g.Spec.Name), err)
	}
	r := &recordv1.Genesis{Spec: wire.FromSpec(g.Spec), StoreId: g.StoreID, Principal: g.Principal,
		TimeUnixNanos: nanos, Policy: g.Policy}
	if !g.Resolution.IsZero() {
		r.Resolution = resolutionForm.Write(g.Resolution)
	}
	if g.Spec.Dataset != nil {
		r.Dataset = wire.DatasetForm.Write(*g.Spec.Dataset)
	}
	return marshal(r)
}

// UnmarshalGenesis is the inverse of MarshalGenesis. Unknown fields and values
// outside their ranges are ledger.ErrDamaged.
func UnmarshalGenesis(b []byte) (ledger.Genesis, error) {
	var r recordv1.Genesis
	err := proto.Unmarshal(b, &r)
	if err == nil {
		err = wire.RejectUnknown(&r)
	}
	if err != nil {
		return ledger.Genesis{}, damaged("genesis", err)
	}
	spec, err := wire.ReadSpec(r.Spec)
	if err != nil {
		return ledger.Genesis{}, damaged("genesis", wire.Under("spec", err))
	}
	g := ledger.Genesis{Spec: spec, StoreID: r.StoreId, Principal: r.Principal, Time: fromNanos(r.TimeUnixNanos),
		Policy: r.Policy}
	if r.Dataset != nil {
		d := wire.DatasetForm.Plain(r.Dataset)
		g.Spec.Dataset = &d
	}
	if g.Resolution, err = resolutionForm.Read("resolution", r.Resolution); err == nil {
		err = checkGenesis(g)
	}
	if err != nil {
		return ledger.Genesis{}, damaged("genesis", err)
	}
	return g, nil
}

func checkGenesis(g ledger.Genesis) error {
	if !wire.IsUUID(g.StoreID) {
		return invalid("store_id", wire.Quote(g.StoreID), "a UUID in lower case")
	}
	if err := wire.CheckPrincipal(g.Principal); err != nil {
		return err
	}
	if err := wire.CheckSpec(g.Spec); err != nil {
		return wire.Under("spec", err)
	}
	if err := checkDataset(g.Spec); err != nil {
		return wire.Under("dataset", err)
	}
	if err := resolutionForm.Check("resolution", g.Resolution); err != nil {
		return err
	}
	return checkResolution(g.Spec, g.Resolution)
}
