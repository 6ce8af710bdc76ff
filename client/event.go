// SPDX-License-Identifier: Apache-2.0

package client

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Event is a mechanism applied count times; count is at least 1.
func Event(m *pb.Mechanism, count uint32) *pb.Event {
	return &pb.Event{Mechanism: m, Count: count}
}

// Gaussian is the Gaussian mechanism with the given noise multiplier σ/Δ > 0:
// the noise's standard deviation over the ℓ2 norm of one record's contribution.
func Gaussian(noiseMultiplier float64) *pb.Mechanism {
	return &pb.Mechanism{Kind: &pb.Mechanism_Gaussian{
		Gaussian: &pb.Gaussian{NoiseMultiplier: proto.Float64(noiseMultiplier)},
	}}
}

// PoissonSampled is m on a batch that holds each record independently with the
// sampling probability in (0, 1]: with Gaussian, a step of DP-SGD.
func PoissonSampled(samplingProbability float64, m *pb.Mechanism) *pb.Mechanism {
	return &pb.Mechanism{Kind: &pb.Mechanism_PoissonSampled{
		PoissonSampled: &pb.PoissonSampled{SamplingProbability: proto.Float64(samplingProbability), Mechanism: m},
	}}
}

// RandomAllocation is an epoch of the given number of steps in which every record takes part in one,
// chosen uniformly, independently of all other records, and hidden; m runs on each step's batch.
func RandomAllocation(steps uint64, m *pb.Mechanism) *pb.Mechanism {
	return &pb.Mechanism{Kind: &pb.Mechanism_RandomAllocation{
		RandomAllocation: &pb.RandomAllocation{Steps: proto.Uint64(steps), Mechanism: m},
	}}
}
