package wire

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Declared tables, and mechanisms that are made of others.

func toRenyiDP(r *pb.RenyiDp) (mechanism.Mechanism, error) {
	var f fields
	r = orEmpty(r)
	f.known("renyi_dp", r)
	// Longer lists are refused before they are packed.
	f.atMost("renyi_dp.orders", len(r.Orders), mechanism.MaxOrders)
	f.atMost("renyi_dp.epsilons", len(r.Epsilons), mechanism.MaxOrders)
	if f.err != nil {
		return nil, f.err
	}
	return mechanism.RenyiDP{Orders: mechanism.NumbersOf(r.Orders...), Epsilons: mechanism.NumbersOf(r.Epsilons...)}, nil
}

func toComposed(c *pb.Composed, depth int) (mechanism.Mechanism, error) {
	var f fields
	c = orEmpty(c)
	f.known("composed", c)
	f.atMost("composed.events", len(c.Events), mechanism.MaxComposedEvents)
	if f.err != nil {
		return nil, f.err
	}
	events, err := toEventsAt("composed.events", c.Events, depth+1)
	if err != nil {
		return nil, err
	}
	return mechanism.Composed{Events: mechanism.ListOf(events...)}, nil
}

func toLossTable(p *pb.PrivacyLossTable) (mechanism.Mechanism, error) {
	var f fields
	p = orEmpty(p)
	f.known("privacy_loss_table", p)
	f.atMost("privacy_loss_table.losses", len(p.Losses), mechanism.MaxLosses)
	f.atMost("privacy_loss_table.masses", len(p.Masses), mechanism.MaxLosses)
	infinite := f.float("privacy_loss_table.infinite_mass", p.InfiniteMass, allowedChance)
	if f.err != nil {
		return nil, f.err
	}
	return mechanism.PrivacyLossTable{
		Losses: mechanism.NumbersOf(p.Losses...), Masses: mechanism.NumbersOf(p.Masses...), InfiniteMass: infinite,
	}, nil
}

func toParallel(p *pb.Parallel, depth int) (mechanism.Mechanism, error) {
	var f fields
	p = orEmpty(p)
	f.known("parallel", p)
	f.atMost("parallel.parts", len(p.Parts), mechanism.MaxParts)
	if f.err != nil {
		return nil, f.err
	}
	parts := make([]mechanism.Mechanism, len(p.Parts))
	for i, part := range p.Parts {
		m, err := toMechanism(part, depth+1)
		if err != nil {
			return nil, under(fmt.Sprintf("parallel.parts[%d]", i), err)
		}
		parts[i] = m
	}
	return mechanism.Parallel{Parts: mechanism.ListOf(parts...)}, nil
}

func fromParallel(p mechanism.Parallel) *pb.Parallel {
	out := &pb.Parallel{}
	for _, m := range p.Parts.Values() {
		out.Parts = append(out.Parts, FromMechanism(m))
	}
	return out
}

func toRepeatAndSelect(r *pb.RepeatAndSelect, depth int) (mechanism.Mechanism, error) {
	var f fields
	r = orEmpty(r)
	f.known("repeat_and_select", r)
	m := mechanism.RepeatAndSelect{
		Gamma: f.float("repeat_and_select.gamma", r.Gamma, allowedChance),
		Eta:   f.float("repeat_and_select.eta", r.Eta, "a number > -1 other than 0, or absent for the logarithmic distribution"),
		Mean:  f.float("repeat_and_select.mean", r.Mean, allowedPositive),
	}
	if r.Mechanism != nil { // otherwise its Check says that it is missing
		inner, err := toMechanism(r.Mechanism, depth+1)
		if err != nil {
			return nil, under("repeat_and_select.mechanism", err)
		}
		m.Mechanism = inner
	}
	return f.done(m)
}

func toDPSGD(d *pb.DpSgd) (mechanism.Mechanism, error) {
	const allowedWhole = "a whole number ≥ 1, or absent"
	var f fields
	d = orEmpty(d)
	f.known("dp_sgd", d)
	return f.done(mechanism.DPSGD{
		NoiseMultiplier: f.float("dp_sgd.noise_multiplier", d.NoiseMultiplier, allowedRequired),
		MaxGradNorm:     f.float("dp_sgd.max_grad_norm", d.MaxGradNorm, allowedPositive),
		BatchSize:       f.whole("dp_sgd.batch_size", d.BatchSize, allowedSize),
		DatasetSize:     f.whole("dp_sgd.dataset_size", d.DatasetSize, allowedSize),
		Epochs:          f.float("dp_sgd.epochs", d.Epochs, allowedPositive),
		Steps:           f.whole("dp_sgd.steps", d.Steps, allowedWhole),
		Accumulation:    f.whole("dp_sgd.accumulation", d.Accumulation, allowedWhole),
	})
}

func fromDPSGD(d mechanism.DPSGD) *pb.DpSgd {
	return &pb.DpSgd{
		NoiseMultiplier: given(d.NoiseMultiplier), MaxGradNorm: given(d.MaxGradNorm),
		BatchSize: given(d.BatchSize), DatasetSize: given(d.DatasetSize),
		Epochs: given(d.Epochs), Steps: given(d.Steps), Accumulation: given(d.Accumulation),
	}
}

// atMost refuses lists that are too long.
func (f *fields) atMost(field string, n, most int) {
	if n > most && f.err == nil {
		f.err = invalid(field, fmt.Sprintf("%d of them", n), fmt.Sprintf("at most %d", most))
	}
}

// appendNumbers appends a list's canonical encoding: its length and its bits.
func appendNumbers(b []byte, n mechanism.Numbers) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(n.Len())), n...)
}

func appendParts(b []byte, parts []mechanism.Mechanism) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(len(parts)))
	for _, m := range parts {
		b = appendMechanism(b, m)
	}
	return b
}

// appendRecordedParts appends a repeated accountant.v1.Mechanism as package proto does.
func appendRecordedParts(b []byte, field protowire.Number, parts []mechanism.Mechanism) []byte {
	for _, m := range parts {
		b = protowire.AppendBytes(appendTag(b, field), appendRecorded(nil, m))
	}
	return b
}

func appendDPSGD(b []byte, d mechanism.DPSGD) []byte {
	b = appendFloats(b, d.NoiseMultiplier, d.MaxGradNorm, d.Epochs)
	for _, n := range [...]uint64{d.BatchSize, d.DatasetSize, d.Steps, d.Accumulation} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// appendPacked appends a list as a packed repeated double.
func appendPacked(b []byte, field protowire.Number, n mechanism.Numbers) []byte {
	if n.Len() == 0 {
		return b
	}
	b = protowire.AppendVarint(appendTag(b, field), uint64(len(n)))
	for i := 0; i < len(n); i += 8 { // big-endian to little-endian
		for j := 7; j >= 0; j-- {
			b = append(b, n[i+j])
		}
	}
	return b
}

// appendRecordedEvents appends a repeated accountant.v1.Event as package proto does.
func appendRecordedEvents(b []byte, field protowire.Number, events []mechanism.Event) []byte {
	for _, e := range events {
		var p []byte
		if e.Mechanism != nil {
			p = protowire.AppendBytes(appendTag(p, 1), appendRecorded(nil, e.Mechanism))
		}
		b = protowire.AppendBytes(appendTag(b, field), appendNumber(p, 2, uint64(e.Count)))
	}
	return b
}

func appendRecordedDPSGD(b []byte, d mechanism.DPSGD) []byte {
	b = appendGiven(b, d.NoiseMultiplier, d.MaxGradNorm)
	b = appendNumber(appendNumber(b, 3, d.BatchSize), 4, d.DatasetSize)
	return appendNumber(appendNumber(appendGivenFrom(b, 5, d.Epochs), 6, d.Steps), 7, d.Accumulation)
}
