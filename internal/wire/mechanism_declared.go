package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Declared guarantees.

const allowedShare = "a number in (0, 1), at least 2.3e-308"

func toDeclared(f *fields, m *pb.Mechanism, _ int) mechanism.Mechanism {
	switch k := m.Kind.(type) {
	case *pb.Mechanism_PureDp:
		p := orEmpty(k.PureDp)
		f.known("pure_dp", p)
		return mechanism.PureDP{Epsilon: f.float("pure_dp.epsilon", p.Epsilon, allowedRequired)}
	case *pb.Mechanism_ApproximateDp:
		a := orEmpty(k.ApproximateDp)
		f.known("approximate_dp", a)
		return mechanism.ApproximateDP{
			Epsilon: f.float("approximate_dp.epsilon", a.Epsilon, allowedRequired),
			Delta:   f.float("approximate_dp.delta", a.Delta, allowedShare),
		}
	case *pb.Mechanism_ZeroConcentratedDp:
		z := orEmpty(k.ZeroConcentratedDp)
		f.known("zero_concentrated_dp", z)
		return mechanism.ZeroConcentratedDP{
			Rho:   f.float("zero_concentrated_dp.rho", z.Rho, allowedRequired),
			Delta: f.float("zero_concentrated_dp.delta", z.Delta, allowedChance),
		}
	case *pb.Mechanism_GaussianDp:
		g := orEmpty(k.GaussianDp)
		f.known("gaussian_dp", g)
		return mechanism.GaussianDP{Mu: f.float("gaussian_dp.mu", g.Mu, allowedRequired)}
	case *pb.Mechanism_RenyiDp:
		r := orEmpty(k.RenyiDp)
		f.known("renyi_dp", r)
		return mechanism.RenyiDP{
			Orders:   f.list("renyi_dp.orders", r.Orders, mechanism.MaxOrders),
			Epsilons: f.list("renyi_dp.epsilons", r.Epsilons, mechanism.MaxOrders),
		}
	case *pb.Mechanism_PrivacyLossTable:
		p := orEmpty(k.PrivacyLossTable)
		f.known("privacy_loss_table", p)
		return mechanism.PrivacyLossTable{
			Losses:       f.list("privacy_loss_table.losses", p.Losses, mechanism.MaxLosses),
			Masses:       f.list("privacy_loss_table.masses", p.Masses, mechanism.MaxLosses),
			InfiniteMass: f.float("privacy_loss_table.infinite_mass", p.InfiniteMass, allowedChance),
		}
	case *pb.Mechanism_NameAndShame:
		n := orEmpty(k.NameAndShame)
		f.known("name_and_shame", n)
		return mechanism.NameAndShame{Delta: f.float("name_and_shame.delta", n.Delta, allowedShare)}
	}
	return nil
}

func fromDeclared(m mechanism.Mechanism) *pb.Mechanism {
	switch m := m.(type) {
	case mechanism.PureDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_PureDp{PureDp: &pb.PureDp{Epsilon: given(m.Epsilon)}}}
	case mechanism.ApproximateDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_ApproximateDp{ApproximateDp: &pb.ApproximateDp{
			Epsilon: given(m.Epsilon), Delta: given(m.Delta),
		}}}
	case mechanism.ZeroConcentratedDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_ZeroConcentratedDp{ZeroConcentratedDp: &pb.ZeroConcentratedDp{
			Rho: given(m.Rho), Delta: given(m.Delta),
		}}}
	case mechanism.GaussianDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_GaussianDp{GaussianDp: &pb.GaussianDp{Mu: given(m.Mu)}}}
	case mechanism.RenyiDP:
		return &pb.Mechanism{Kind: &pb.Mechanism_RenyiDp{RenyiDp: &pb.RenyiDp{Orders: m.Orders.Values(), Epsilons: m.Epsilons.Values()}}}
	case mechanism.PrivacyLossTable:
		return &pb.Mechanism{Kind: &pb.Mechanism_PrivacyLossTable{PrivacyLossTable: &pb.PrivacyLossTable{
			Losses: m.Losses.Values(), Masses: m.Masses.Values(), InfiniteMass: given(m.InfiniteMass),
		}}}
	case mechanism.NameAndShame:
		return &pb.Mechanism{Kind: &pb.Mechanism_NameAndShame{NameAndShame: &pb.NameAndShame{Delta: given(m.Delta)}}}
	}
	return nil
}

func appendDeclared(b []byte, m mechanism.Mechanism) []byte {
	switch m := m.(type) {
	case mechanism.PureDP:
		return appendFloats(append(b, 5), m.Epsilon)
	case mechanism.ApproximateDP:
		return appendFloats(append(b, 6), m.Epsilon, m.Delta)
	case mechanism.ZeroConcentratedDP:
		if m.Delta != 0 { // what has none keeps the encoding from before there was one
			return appendFloats(append(b, 128+7), m.Rho, m.Delta)
		}
		return appendFloats(append(b, 7), m.Rho)
	case mechanism.GaussianDP:
		return appendFloats(append(b, 8), m.Mu)
	case mechanism.RenyiDP:
		return appendNumbers(appendNumbers(append(b, 18), m.Orders), m.Epsilons)
	case mechanism.PrivacyLossTable:
		return appendFloats(appendNumbers(appendNumbers(append(b, 19), m.Losses), m.Masses), m.InfiniteMass)
	case mechanism.NameAndShame:
		return appendFloats(append(b, 20), m.Delta)
	}
	return nil
}

func recordDeclared(p []byte, m mechanism.Mechanism) (protowire.Number, []byte) {
	switch m := m.(type) {
	case mechanism.PureDP:
		return 5, appendGiven(p, m.Epsilon)
	case mechanism.ApproximateDP:
		return 6, appendGiven(p, m.Epsilon, m.Delta)
	case mechanism.ZeroConcentratedDP:
		return 7, appendGiven(p, m.Rho, m.Delta)
	case mechanism.GaussianDP:
		return 8, appendGiven(p, m.Mu)
	case mechanism.RenyiDP:
		return 18, appendPacked(appendPacked(p, 1, m.Orders), 2, m.Epsilons)
	case mechanism.PrivacyLossTable:
		return 19, appendGivenFrom(appendPacked(appendPacked(p, 1, m.Losses), 2, m.Masses), 3, m.InfiniteMass)
	case mechanism.NameAndShame:
		return 20, appendGiven(p, m.Delta)
	}
	return 0, nil
}
