// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire"
)

// unknownField is a field that no message of the API has.
var unknownField = protoreflect.RawFields(
	protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))

// checkInvalid wants a *wire.InvalidError for field with what is allowed.
func checkInvalid(t *testing.T, err error, field string) *wire.InvalidError {
	t.Helper()
	var e *wire.InvalidError
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want a *wire.InvalidError of %s", err, field)
	}
	if e.Field != field || e.Value == "" || e.Allowed == "" {
		t.Fatalf("error = %q, want field %s with a value and what is allowed", e, field)
	}
	return e
}

// gaussianEvents returns n events with one application of the same mechanism each.
func gaussianEvents(n int) []*pb.Event {
	events := make([]*pb.Event, n)
	for i := range events {
		events[i] = &pb.Event{Mechanism: wire.FromMechanism(mechanism.Gaussian{NoiseMultiplier: 1}), Count: 1}
	}
	return events
}
