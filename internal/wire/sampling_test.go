// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Numbers of mixtures and matrices out of range, and lists that do not fit each other.
func TestNumbersThatDoNotFit(t *testing.T) {
	mixture := func(s, p []float64) *pb.Mechanism {
		return &pb.Mechanism{Kind: &pb.Mechanism_MixtureOfGaussians{MixtureOfGaussians: &pb.MixtureOfGaussians{
			StandardDeviation: proto.Float64(1), Sensitivities: s, Probabilities: p}}}
	}
	banded := func(c []float64) *pb.Mechanism {
		return &pb.Mechanism{Kind: &pb.Mechanism_BandedMatrix{BandedMatrix: &pb.BandedMatrix{
			NoiseMultiplier: proto.Float64(1), Coefficients: c, Steps: proto.Uint64(5)}}}
	}
	long := make([]float64, mechanism.MaxBands+1)
	for i := range long {
		long[i] = 1
	}
	for _, c := range []struct {
		m     *pb.Mechanism
		field string
	}{
		{mixture(nil, nil), "mixture_of_gaussians.sensitivities"},
		{mixture([]float64{0}, []float64{1}), "mixture_of_gaussians.sensitivities"},
		{mixture(long[:mechanism.MaxComponents+1], long[:mechanism.MaxComponents+1]),
			"mixture_of_gaussians.sensitivities"},
		{mixture([]float64{0, 1}, []float64{1}), "mixture_of_gaussians.probabilities"},
		{mixture([]float64{0, 1}, []float64{0.5, 0.25}), "mixture_of_gaussians.probabilities"},
		{mixture([]float64{0, 1}, []float64{1, 0}), "mixture_of_gaussians.probabilities[1]"},
		{mixture([]float64{0, 1}, []float64{0.5, math.NaN()}), "mixture_of_gaussians.probabilities[1]"},
		{mixture([]float64{0, -1}, []float64{0.5, 0.5}), "mixture_of_gaussians.sensitivities[1]"},
		{mixture([]float64{math.Copysign(0, -1), 1}, []float64{0.5, 0.5}), "mixture_of_gaussians.sensitivities[0]"},
		{mixture([]float64{1, math.Inf(1)}, []float64{0.5, 0.5}), "mixture_of_gaussians.sensitivities[1]"},
		{banded(nil), "banded_matrix.coefficients"},
		{banded(long), "banded_matrix.coefficients"},
		{banded([]float64{0, 1}), "banded_matrix.coefficients[0]"},
		{banded([]float64{1, math.NaN()}), "banded_matrix.coefficients[1]"},
		{banded([]float64{1, 1e-200}), "banded_matrix.coefficients[1]"},
		{banded([]float64{math.Inf(-1)}), "banded_matrix.coefficients[0]"},
	} {
		_, err := ToMechanism(c.m)
		checkInvalid(t, err, c.field)
	}
	for _, m := range []*pb.Mechanism{mixture([]float64{0, 1}, []float64{0.5, 0.5}), banded([]float64{1, 0, -1})} {
		if _, err := ToMechanism(m); err != nil {
			t.Error(err)
		}
	}
}
