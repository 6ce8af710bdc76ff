// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/wire/wiretest"
)

func TestRecordedMechanismIsProtobufs(t *testing.T) {
	check := func(t rapid.TB, m mechanism.Mechanism) {
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(FromMechanism(m))
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendRecorded(nil, m); !bytes.Equal(got, want) {
			t.Errorf("%+v:\n got %x\nwant %x", m, got, want)
		}
	}
	for _, m := range wiretest.EveryMechanism { // a new kind without an encoding fails here
		check(t, m)
	}
	check(t, nil)
	check(t, mechanism.PoissonSampled{SamplingProbability: 0.5})
	rapid.Check(t, func(t *rapid.T) { check(t, wiretest.Mechanisms().Draw(t, "mechanism")) })
}
