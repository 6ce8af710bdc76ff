// SPDX-License-Identifier: Apache-2.0

// Package wiretest has values and generators that the tests of packages wire and record
// share. The numbers are made up: conversion does not depend on them.
package wiretest

import (
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/dpaccountant/accountant/internal/accountant"
	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// What package wire allows at most.
const (
	maxLabels = 16
	maxUnit   = 64
	maxText   = 256
	maxReason = 1024
)

// EveryMechanism has each kind in each way to give it.
var EveryMechanism = []mechanism.Mechanism{
	mechanism.Gaussian{StandardDeviation: 3, Sensitivity: 2},
	mechanism.Gaussian{StandardDeviation: 3, Distance: 2},
	mechanism.Gaussian{NoiseMultiplier: 1.1},
	mechanism.Laplace{Scale: 2, Sensitivity: 1},
	mechanism.Laplace{Scale: 2, Distance: 1},
	mechanism.PoissonSampled{SamplingProbability: 0.25, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}},
	mechanism.PoissonSampled{BatchSize: 256, DatasetSize: 60000,
		Mechanism: mechanism.Gaussian{StandardDeviation: 3, Sensitivity: 2}},
	mechanism.RandomizedResponse{Epsilon: 1},
	mechanism.RandomizedResponse{Epsilon: 1, Buckets: 7},
	mechanism.RandomizedResponse{Noise: 0.5, Buckets: 7},
	mechanism.PureDP{Epsilon: 0.5},
	mechanism.ApproximateDP{Epsilon: 0.5, Delta: 1e-6},
	mechanism.ZeroConcentratedDP{Rho: 0.125},
	mechanism.GaussianDP{Mu: 0.75},
	mechanism.PoissonSampled{SamplingProbability: 0.25, Mechanism: mechanism.Laplace{Scale: 2, Sensitivity: 1}},
	mechanism.PoissonSampled{SamplingProbability: 0.25,
		Mechanism: mechanism.RandomizedResponse{Epsilon: 1, Buckets: 7}},
	mechanism.PoissonSampled{SamplingProbability: 0.25, Mechanism: mechanism.PureDP{Epsilon: 0.5}},
	mechanism.PoissonSampled{SamplingProbability: 0.25, Mechanism: mechanism.ApproximateDP{Epsilon: 0.5, Delta: 1e-6}},
	mechanism.PoissonSampled{SamplingProbability: 0.25, Mechanism: mechanism.GaussianDP{Mu: 0.75}},
	mechanism.PoissonSampled{SamplingProbability: 0.25,
		Mechanism: mechanism.DiscreteGaussian{StandardDeviation: 3, Sensitivity: 2}},
	mechanism.PoissonSampled{SamplingProbability: 0.25,
		Mechanism: mechanism.TruncatedLaplace{Scale: 2, Bound: 30, Sensitivity: 1}},
	mechanism.PoissonSampled{SamplingProbability: 0.25,
		Mechanism: mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-1, 1),
			Masses: mechanism.NumbersOf(0.125, 0.625), InfiniteMass: 0.25}},
	mechanism.ZeroConcentratedDP{Rho: 0.125, Delta: 1e-6},
	mechanism.RenyiDP{Orders: mechanism.NumbersOf(1.5, 2, 64), Epsilons: mechanism.NumbersOf(0.1, 0.125, 3)},
	mechanism.NameAndShame{Delta: 1e-9},
	ComposedOf(mechanism.Event{Mechanism: mechanism.GaussianDP{Mu: 0.75}, Count: 3},
		mechanism.Event{Mechanism: mechanism.PureDP{Epsilon: 0.5}, Count: 1}),
	ComposedOf(mechanism.Event{Mechanism: ComposedOf(
		mechanism.Event{Mechanism: mechanism.RandomizedResponse{Epsilon: 1}, Count: 2}), Count: math.MaxUint32 / 2}),
	mechanism.PoissonSampled{SamplingProbability: 0.25,
		Mechanism: ComposedOf(mechanism.Event{Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}, Count: 2})},
	mechanism.DPSGD{NoiseMultiplier: 1.1, MaxGradNorm: 0.5, BatchSize: 256, DatasetSize: 60000,
		Epochs: 2.5, Accumulation: 4},
	mechanism.DPSGD{NoiseMultiplier: 1.1, BatchSize: 256, DatasetSize: 60000, Steps: 1000},
	mechanism.DiscreteGaussian{StandardDeviation: 3, Sensitivity: 2},
	mechanism.DiscreteGaussian{StandardDeviation: 3, Distance: 2.5, Coordinates: 7},
	mechanism.DiscreteLaplace{Scale: 2, Sensitivity: 1},
	mechanism.DiscreteLaplace{Scale: 2, Distance: 3},
	mechanism.TruncatedLaplace{Scale: 2, Bound: 30, Sensitivity: 1},
	mechanism.TruncatedLaplace{Scale: 2, Bound: 30, Distance: 1},
	mechanism.Exponential{Epsilon: 0.5},
	mechanism.Exponential{Scale: 4, Sensitivity: 1},
	mechanism.Exponential{Scale: 4, Sensitivity: 1, Monotone: true},
	mechanism.ReportNoisyMax{Distribution: mechanism.LaplaceMax, Epsilon: 0.5},
	mechanism.ReportNoisyMax{Distribution: mechanism.ExponentialMax, Scale: 4, Sensitivity: 1},
	mechanism.ReportNoisyMax{Distribution: mechanism.GumbelMax, Scale: 4, Sensitivity: 1, Monotone: true},
	mechanism.AboveThreshold{ThresholdEpsilon: 0.25, QueryEpsilon: 0.5},
	mechanism.AboveThreshold{ThresholdScale: 4, QueryScale: 16, Sensitivity: 1, Positives: 2},
	mechanism.AboveThreshold{ThresholdScale: 4, QueryScale: 16, Sensitivity: 1, Positives: 2, Monotone: true},
	mechanism.InverseSensitivity{Epsilon: 0.5},
	mechanism.Histogram{LaplaceScale: 2},
	mechanism.Histogram{StandardDeviation: 3},
	mechanism.CountingQueries{Queries: 100, Rho: 0.125},
	mechanism.PrivacyLossTable{Losses: mechanism.NumbersOf(-1, 0, 1),
		Masses: mechanism.NumbersOf(0.125, 0.375, 0.25), InfiniteMass: 0.25},
	mechanism.Parallel{Parts: mechanism.ListOf[mechanism.Mechanism](mechanism.GaussianDP{Mu: 0.75},
		mechanism.PureDP{Epsilon: 0.5})},
	mechanism.RepeatAndSelect{Mechanism: mechanism.GaussianDP{Mu: 0.75}, Gamma: 0.125, Eta: -0.5},
	mechanism.RepeatAndSelect{Mechanism: mechanism.PureDP{Epsilon: 0.5}, Mean: 7},
	mechanism.Group{Size: 4,
		Mechanism: mechanism.PoissonSampled{SamplingProbability: 0.25,
			Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}},
	mechanism.FixedSizeSampled{BatchSize: 256, DatasetSize: 60000, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}},
	mechanism.TruncatedPoissonSampled{SamplingProbability: 0.25, DatasetSize: 1000, MaximumBatchSize: 300,
		Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}},
	mechanism.TruncatedPoissonSampled{BatchSize: 250, DatasetSize: 1000, MaximumBatchSize: 300,
		Mechanism: mechanism.Laplace{Scale: 2, Sensitivity: 1}},
	mechanism.Shuffled{BatchSize: 256, DatasetSize: 60000,
		Mechanism: mechanism.Gaussian{StandardDeviation: 3, Sensitivity: 2}},
	mechanism.MixtureOfGaussians{StandardDeviation: 2, Sensitivities: mechanism.NumbersOf(0, 1, 3),
		Probabilities: mechanism.NumbersOf(0.5, 0.25, 0.25)},
	mechanism.TreeAggregation{NoiseMultiplier: 5,
		Participation: mechanism.Participation{Steps: 1000, Participations: 3, MinimumSeparation: 200}},
	mechanism.TreeAggregation{StandardDeviation: 5, Sensitivity: 2,
		Participation: mechanism.Participation{Steps: 1000}},
	mechanism.BandedMatrix{NoiseMultiplier: 5, Coefficients: mechanism.NumbersOf(1, 0.5, -0.25),
		Participation: mechanism.Participation{Steps: 1000, Participations: 3, MinimumSeparation: 200}},
	mechanism.BandedMatrix{StandardDeviation: 5, Sensitivity: 2, Coefficients: mechanism.NumbersOf(1),
		Participation: mechanism.Participation{Steps: 1000}},
	mechanism.Parallel{Parts: mechanism.ListOf[mechanism.Mechanism](mechanism.GaussianDP{Mu: 0.75},
		mechanism.PureDP{Epsilon: 0.5}), PartitionFixedInAdvance: true},
	mechanism.RandomAllocation{Steps: 235, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.5}},
	mechanism.RandomAllocation{Steps: 235, Selected: 3, Passes: 2,
		Mechanism: mechanism.Gaussian{StandardDeviation: 3, Sensitivity: 2}},
	mechanism.RandomAllocation{Steps: 7, Mechanism: mechanism.Laplace{Scale: 2, Sensitivity: 1}},
	mechanism.GeneralMatrix{StepNoise: mechanism.StepNoise{NoiseMultiplier: 5},
		Entries: mechanism.NumbersOf(1, 0.5, 1, 0.25, 0.5, 1), Participation: mechanism.Participation{Steps: 3}},
	mechanism.GeneralMatrix{StepNoise: mechanism.StepNoise{StandardDeviation: 5, Sensitivity: 2},
		Coefficients: mechanism.NumbersOf(1), Denominator: mechanism.NumbersOf(1, -1), Exponent: 0.5,
		Participation: mechanism.Participation{Steps: 1000, Participations: 3, MinimumSeparation: 200}},
	mechanism.GeneralMatrix{StepNoise: mechanism.StepNoise{NoiseMultiplier: 5},
		Coefficients: mechanism.NumbersOf(1, -0.5), Participation: mechanism.Participation{Steps: 1000}, Period: 200},
	mechanism.SampledMatrix{StepNoise: mechanism.StepNoise{NoiseMultiplier: 1.25},
		Coefficients: mechanism.NumbersOf(1, 0.5), Steps: 1000, SamplingProbability: 0.25},
	mechanism.SampledMatrix{StepNoise: mechanism.StepNoise{StandardDeviation: 5, Sensitivity: 2},
		Coefficients: mechanism.NumbersOf(1, 0.5), Steps: 1000, Groups: 4, SamplingProbability: 0.25},
	mechanism.AllocatedMatrix{StepNoise: mechanism.StepNoise{NoiseMultiplier: 1.25},
		Coefficients: mechanism.NumbersOf(1, 0.5), Steps: 1000, Period: 100},
	mechanism.ShuffledReports{Reports: 1000, Mechanism: mechanism.PureDP{Epsilon: 2}},
	mechanism.ShuffledReports{Reports: 1000, Mechanism: mechanism.RandomizedResponse{Noise: 0.25, Buckets: 8}},
	mechanism.RepeatAndSelect{Mechanism: mechanism.PureDP{Epsilon: 0.5}, Gamma: 0.125, FirstAboveThreshold: true},
	mechanism.AllocatedMatrix{StepNoise: mechanism.StepNoise{StandardDeviation: 5, Sensitivity: 2},
		Coefficients: mechanism.NumbersOf(1, 0.5), Steps: 1000, Period: 100},
}

func ComposedOf(events ...mechanism.Event) mechanism.Composed {
	return mechanism.Composed{Events: mechanism.ListOf(events...)}
}

// StepCharge is what a DP-SGD step reports.
var StepCharge = ledger.Charge{
	Events: []mechanism.Event{{Mechanism: mechanism.PoissonSampled{
		SamplingProbability: 0.0042, Mechanism: mechanism.Gaussian{NoiseMultiplier: 1.1}}, Count: 1}},
	Labels: []ledger.Label{{Key: "run", Value: "r1"}, {Key: "step", Value: "17"}},
}

const (
	UUID      = "3f2b8a4e-6f0d-4b9a-9c0e-2a1d5e7f9b10"
	OtherUUID = "7c1f0d52-93aa-4a55-8e4b-0b6f2d9c4e31"
	Principal = "unverified:anonymous"
)

func StepEntry() ledger.Entry {
	return ledger.Entry{
		Position: 17, Writer: ledger.Writer{Principal: Principal, Name: UUID}, Sequence: 17,
		Time: time.Unix(1790000000, 123456789).UTC(), Action: StepCharge, Policy: 3,
	}
}

func Genesis() ledger.Genesis {
	return ledger.Genesis{
		Spec: ledger.Spec{
			Name: "team/project-1", Adjacency: mechanism.ReplaceOne, PrivacyUnit: "example",
			DatasetID: "digits", DatasetVersion: "1", Owner: "somebody",
			Labels: []ledger.Label{{Key: "42", Value: "42"}, {Key: "stage", Value: ""}},
		},
		StoreID: UUID, Principal: Principal, Time: time.Unix(1790000000, 1).UTC(),
	}
}

// PlannedGenesis and FilteredGenesis have everything that a PLAN or FILTER
// ledger can have. Their numbers need not be what a resolution would find.
func PlannedGenesis() ledger.Genesis {
	g := Genesis()
	g.Policy = 3
	g.Spec.Policy = ledger.Planned
	g.Spec.Plan = ledger.Workload{Name: "train",
		Events: []mechanism.Event{{Mechanism: EveryMechanism[6], Count: 1000},
			{Mechanism: EveryMechanism[7], Count: 2}}}
	g.Spec.Budgets = []accountant.Budget{{Epsilon: 8, Delta: 1e-5}, {Mu: 1.5}}
	g.Resolution.Plan = []mechanism.Part{{Mechanism: EveryMechanism[6], Count: 1000},
		{Mechanism: EveryMechanism[7], Count: 2}}
	return g
}

func FilteredGenesis() ledger.Genesis {
	g := Genesis()
	g.Spec.Policy = ledger.Filtered
	g.Spec.ExpectedRun = ledger.Workload{Events: []mechanism.Event{{Mechanism: EveryMechanism[6], Count: 1000}}}
	g.Spec.Budgets = []accountant.Budget{
		{Guard: accountant.GuardBasic, Epsilon: 3}, {Guard: accountant.GuardZCDP, Rho: 0.25},
		{Guard: accountant.GuardApproximateZCDP, Rho: 0.25, Delta: 1e-6}, {Guard: accountant.GuardGDP, Mu: 1.5},
		{Guard: accountant.GuardRDP, Epsilon: 8, Delta: 1e-5},
		{Guard: accountant.GuardRDP, Epsilon: 8, Delta: 1e-5, Order: 12},
	}
	g.Resolution.Limits = []accountant.Limit{
		{Guard: accountant.GuardBasic, Value: 3}, {Guard: accountant.GuardZCDP, Value: 0.25},
		{Guard: accountant.GuardApproximateZCDP, Value: 0.25, Delta: 1e-6}, {Guard: accountant.GuardGDP, Value: 2.25},
		{Guard: accountant.GuardRDP, Value: 4.5, Order: 3.78}, {Guard: accountant.GuardRDP, Value: 7.1, Order: 12},
	}
	return g
}

// DatasetGenesis is the record of a dataset with a budget of its own.
func DatasetGenesis() ledger.Genesis {
	g := FilteredGenesis()
	g.Spec.Name, g.Spec.DatasetID = "dataset:survey", "survey"
	g.Spec.Owner, g.Spec.ExpectedRun = "", ledger.Workload{}
	g.Spec.Dataset = &ledger.Dataset{Title: "Survey of users", Owners: []string{"ann", "bob"}, MaxRecords: 3,
		EnforcedBy: "the sampler", Caps: ledger.Caps{Charge: 0.1, Ledger: 0.5}, Independence: "other people",
		ToConfirm: true}
	return g
}

// GoldenGeneses are geneses of every kind, each with its name.
func GoldenGeneses() (names []string, geneses []ledger.Genesis) {
	child, derived := PlannedGenesis(), DatasetGenesis()
	child.Spec.Parent, child.Spec.OverAllOnly = "team/all", true
	derived.Spec.Policy, derived.Spec.Budgets, derived.Resolution = ledger.Descriptive, nil, ledger.Resolution{}
	derived.Spec.Dataset = &ledger.Dataset{MaxRecords: 3, EnforcedBy: "the sampler", BudgetOf: "dataset:people",
		DerivedFrom: []ledger.DatasetReference{{ID: "people", Version: "2"}, {ID: "homes"}}}
	return []string{"project", "planned", "filtered", "child", "dataset", "derived-dataset"},
		[]ledger.Genesis{Genesis(), PlannedGenesis(), FilteredGenesis(), child, DatasetGenesis(), derived}
}

// RaisedFilter and RaisedPlan are raises of the two, with what they came to.
func RaisedFilter() ledger.Raise {
	g := FilteredGenesis()
	v := ledger.Raise{Budgets: g.Spec.Budgets, Independent: true, Reason: "more data",
		Resolution: g.Resolution, Late: true}
	v.Budgets[0].Epsilon, v.Resolution.Limits[0].Value = 4, 4
	return v
}

func RaisedPlan() ledger.Raise {
	g := PlannedGenesis()
	g.Spec.Plan.Events[0].Count, g.Resolution.Plan[0].Count = 2000, 2000
	return ledger.Raise{Budgets: g.Spec.Budgets, Plan: g.Spec.Plan, Reason: "longer", Resolution: g.Resolution}
}

// approval is one with all that it has.
var approval = ledger.Approval{Proposal: 16, Proposer: "uid:1000", Person: "person:ben",
	Comment: "agreed with the owner"}

// approvable are actions that may need two people, as entries have them.
func approvable() []ledger.Approvable {
	return []ledger.Approvable{
		ledger.Refund{Position: 16, Events: StepCharge.Events, Reason: "it never ran"}, RaisedFilter(), RaisedPlan(),
		ledger.Free{Reservation: 16, Events: StepCharge.Events, Reason: "the job died"},
		ledger.Reconcile{Events: StepCharge.Events, Contribution: ledger.OverAll, Reason: "from a log", Over: true},
	}
}

// Policy is an access policy as entries have it.
func Policy(text string) ledger.AccessPolicy {
	return ledger.AccessPolicy{Text: []byte(text), SHA256: sha256.Sum256([]byte(text))}
}

// Restored is a restore with all that it has.
func Restored() ledger.Restored {
	return ledger.Restored{From: UUID, StoreID: OtherUUID, Copy: ledger.Hash{1, 2, 3},
		Newest: time.Unix(1789999999, 5).UTC()}
}

// Lost is what a daemon writes that knows of an entry which the database has lost.
func Lost() ledger.Restored {
	return ledger.Restored{From: UUID, StoreID: UUID, Newest: time.Unix(1789999999, 5).UTC(),
		Lost: ledger.Head{Position: 41, Hash: ledger.Hash{4, 5, 6}}}
}

// GoldenEntries are entries of every kind, each with its name, without digests.
func GoldenEntries() (names []string, entries []ledger.Entry) {
	add := func(name string, v ledger.Action) {
		e := StepEntry()
		e.Action = v
		names, entries = append(names, name), append(entries, e)
	}
	add("step", StepCharge)
	for i, m := range EveryMechanism {
		add(fmt.Sprintf("%s-%d", m.Kind(), i), ledger.Charge{Events: []mechanism.Event{{Mechanism: m, Count: 300}}})
	}
	add("close", ledger.Close{Reason: "done"})
	add("reserve", ledger.Reserve{Events: StepCharge.Events, Lifetime: time.Hour, Labels: StepCharge.Labels})
	add("commit", ledger.Commit{Reservation: 16, Events: StepCharge.Events, Labels: StepCharge.Labels})
	add("release", ledger.Release{Reservation: 16, Reason: "job failed"})
	add("expire", ledger.Expire{Reservation: 16})
	add("refund", ledger.Refund{Position: 16, Events: StepCharge.Events, Reason: "it never ran"})
	add("raise", RaisedFilter())
	add("raise-plan", RaisedPlan())
	add("restored", Restored())
	add("lost", Lost())
	add("reconcile", ledger.Reconcile{Events: StepCharge.Events, Contribution: ledger.OverAll,
		Reason: "from a log", Over: true})
	add("reconcile-nothing", ledger.Reconcile{})
	add("accept-loss", ledger.Reconcile{AcceptLoss: true, Reason: "nobody knows"})
	add("free", ledger.Free{Reservation: 16, Events: StepCharge.Events, Reason: "the job died"})
	add("allocate", ledger.Reserve{Events: StepCharge.Events, Child: "team/project-1/a"})
	add("acknowledge", ledger.Acknowledge{Warning: "large-delta", Reason: "1e-5 is this year's policy"})
	add("observe", ledger.Observe{Canaries: ledger.Canaries{Inserted: 1000, Guesses: 100, Correct: 83, Delta: 1e-5,
		Confidence: 0.99}, Reason: "run 7", Charged: StepCharge.Events})
	for i, v := range approvable() {
		add(fmt.Sprintf("approved-%d", i), v)
		entries[len(entries)-1].Approval = &approval
		add(fmt.Sprintf("propose-%d", i), ledger.Propose{Action: ledger.Asked(v).(ledger.Approvable),
			Lifetime: 72 * time.Hour, Person: "person:ann"})
	}
	add("access-policy", Policy("version: 1\n"))
	add("withdraw", ledger.Withdraw{Proposal: 16, Reason: "no more needed"})
	add("reserve-holder", ledger.Reserve{Events: StepCharge.Events, Lifetime: time.Hour, Holder: "trainers"})
	add("commit-holder", ledger.Commit{Reservation: 16, Events: StepCharge.Events, Holder: "trainers"})
	add("release-holder", ledger.Release{Reservation: 16, Holder: "trainers"})
	add("adopt", ledger.Adopt{Dataset: "dataset:survey"})
	add("adopted", ledger.Adopt{Ledgers: 2, Charged: true, Independent: true, Reason: "fixed in the protocol"})
	title := "Survey of users"
	add("amend-dataset", ledger.AmendDataset{Title: &title, Owners: []string{"ann", "bob"},
		Labels: []ledger.Label{{Key: "country", Value: "ch"}}, Caps: &ledger.Caps{Charge: 0.1, Ledger: 0.5},
		AddVersion: &ledger.DatasetVersion{Of: ledger.DatasetReference{ID: "survey", Version: "2"},
			DerivedFrom: []ledger.DatasetReference{{ID: "survey", Version: "1"}}}, Reason: "a second wave"})
	raised := RaisedFilter()
	larger := ledger.AmendDataset{Budgets: raised.Budgets, Independent: true, Reason: "planned",
		Resolution: raised.Resolution, Late: true}
	add("amend-dataset-budget", larger)
	add("amend-dataset-approved", larger)
	entries[len(entries)-1].Approval = &approval
	add("amend-dataset-proposed", ledger.Propose{Action: ledger.Asked(larger).(ledger.Approvable),
		Lifetime: 72 * time.Hour,
		Person:   "person:ann"})
	members := []ledger.Member{{Ledger: "days/1", Position: 7}, {Ledger: "days/2", Position: 300}}
	add("together-charge", ledger.Together{Contribution: ledger.InEach, Members: members, Action: StepCharge})
	add("together-reserve", ledger.Together{Contribution: ledger.OverAll, Members: members,
		Range:  &ledger.NameRange{Prefix: "days/", First: "1", Last: "2"},
		Action: ledger.Reserve{Events: StepCharge.Events, Lifetime: time.Hour, Holder: "trainers"}})
	held := []ledger.Member{{Ledger: "days/1", Position: 8, Reservation: 7},
		{Ledger: "days/2", Position: 302, Reservation: 300}}
	add("together-commit", ledger.Together{Contribution: ledger.OverAll, Members: held, Journal: "system:sets/3",
		Action: ledger.Commit{Reservation: 16, Events: StepCharge.Events, Labels: StepCharge.Labels}})
	add("together-release", ledger.Together{Contribution: ledger.OverAll, Members: held, Journal: "system:sets/3",
		Action: ledger.Release{Reservation: 16, Reason: "job failed"}})
	for i, v := range []ledger.Action{StepCharge, ledger.Commit{Reservation: 7, Events: StepCharge.Events}} {
		add(fmt.Sprintf("set-%d", i), v)
		part := &entries[len(entries)-1]
		part.Set = &ledger.SetPart{Contribution: ledger.Contribution(1 + i%4), Journal: uint8(13 * i), Position: 16,
			Members: 2, Names: ledger.NamesHash(members)}
		part.First = i > 0
		part.Writer = ledger.SetWriter(part.Writer.Principal)
	}
	add("amend-dataset-confirmed", ledger.AmendDataset{Confirm: true, Reason: "registered"})
	entries[len(entries)-1].Approval = &approval
	return names, entries
}
