// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/wire"
)

func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func damaged(what string, err error) error {
	kind := ledger.ErrDamaged
	var wrong *wire.InvalidError
	if errors.As(err, &wrong) && wrong.Unknown() {
		kind = ledger.ErrNewer
	}
	return fmt.Errorf("%w: %s: %w", kind, what, err)
}

func fromNanos(n int64) time.Time { return time.Unix(0, n).UTC() }

func invalid(field, value, allowed string) *wire.InvalidError {
	return &wire.InvalidError{Field: field, Value: value, Allowed: allowed}
}
