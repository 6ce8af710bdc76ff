package main

import (
	"bytes"
	"flag"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/mechanism"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

var update = flag.Bool("update", false, "write the goldens anew; then look at them")

// figures have one of each kind of axis and line.
func figures() map[string]*figure {
	curve, test := line{name: "δ at most"}, line{name: "any test: β at least"}
	for i := range 41 {
		x := float64(i) / 10
		curve.points = append(curve.points, point{x, -x * x / 2})
		test.points = append(test.points, point{x / 4, (1 - x/4) * (1 - x/4)})
	}
	const noon = 1_769_860_800 // 2026-01-31 12:00 UTC
	return map[string]*figure{
		"curve":     {"Privacy of a test", axis{name: "ε"}, axis{"δ", powers}, []line{curve}},
		"trade-off": {"Errors of a test", axis{name: "α"}, axis{name: "β"}, []line{test, {name: "a coin", points: []point{{0, 1}, {1, 0}}}}},
		"budget": {"Spent of team/mnist", axis{"time (UTC)", times}, axis{"of epsilon=8", percents}, []line{
			{"all", []point{{noon, 0}, {noon + 3600, 30}, {noon + 7200, 75}, {noon + 9000, 70}}, true},
			{"run=1", []point{{noon, 0}, {noon + 7200, 45}, {noon + 9000, 45}}, true},
			{"run=2", []point{{noon, 0}, {noon + 3600, 30}, {noon + 9000, 25}}, true}}},
		"nothing": {"Nothing", axis{name: "x"}, axis{name: "y"}, nil},
	}
}

func TestFigures(t *testing.T) {
	for name, f := range figures() {
		golden(t, name+".txt", []byte(f.text(72, 16, false)))
		svg, err := f.image("svg")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".svg", svg)
		picture, err := f.image("png")
		if err != nil {
			t.Fatal(err)
		}
		if decoded, err := png.Decode(bytes.NewReader(picture)); err != nil || decoded.Bounds().Dx() != 1209 || decoded.Bounds().Dy() != 756 {
			t.Errorf("%s: %v, %v; want 16 by 10 cm at 192 dpi", name, decoded.Bounds(), err)
		}
		if *update {
			if err := os.WriteFile(filepath.Join(os.TempDir(), name+".png"), picture, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// golden compares with a file that somebody has looked at.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "plot", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is no longer what it was:\n%s", name, got)
	}
}

func TestColouredFigure(t *testing.T) {
	text := figures()["budget"].text(60, 10, true)
	for _, want := range []string{"\x1b[34m•\x1b[0m all", "\x1b[31m+\x1b[0m run=1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// What counts of each kind of entry, and for which value of the label.
func TestSpending(t *testing.T) {
	noise := func(n uint32) []*accountantv1.Event { return servertest.Gaussian(2, n).Events }
	label := func(v string) map[string]string { return map[string]string{"run": v} }
	entries := []*accountantv1.Entry{
		{Action: &accountantv1.Entry_Charge{Charge: &accountantv1.Charge{Events: noise(5), Labels: label("a")}}},
		{Action: &accountantv1.Entry_Reserve{Reserve: &accountantv1.Reserve{Events: noise(100), Labels: label("b")}}},
		{Action: &accountantv1.Entry_Commit{Commit: &accountantv1.Commit{Reservation: 2, Events: noise(10)}}},
		{Action: &accountantv1.Entry_Reserve{Reserve: &accountantv1.Reserve{Events: noise(7)}}},
		{Action: &accountantv1.Entry_Refund{Refund: &accountantv1.Refund{Position: 1, Events: noise(5)}}},
		{Action: &accountantv1.Entry_Commit{Commit: &accountantv1.Commit{Reservation: 2, Events: noise(20), Labels: label("a")}}},
		{Action: &accountantv1.Entry_Expire{Expire: &accountantv1.Expire{Reservation: 2}}},
		{Action: &accountantv1.Entry_Release{Release: &accountantv1.Release{Reservation: 4}}},
		{Action: &accountantv1.Entry_Reserve{Reserve: &accountantv1.Reserve{Events: noise(9), Labels: label("c")}}},
		{Action: &accountantv1.Entry_Free{Free: &accountantv1.Free{Reservation: 9, Events: noise(9)}}},
		{Action: &accountantv1.Entry_Charge{Charge: &accountantv1.Charge{Events: noise(3)}}},
		{Action: &accountantv1.Entry_Reserve{Reserve: &accountantv1.Reserve{Events: noise(6), Labels: label("b")}}},
		{Action: &accountantv1.Entry_Restored{Restored: &accountantv1.Restored{}}},
		{Action: &accountantv1.Entry_Reconcile{Reconcile: &accountantv1.Reconcile{Events: noise(2)}}},
		{Action: &accountantv1.Entry_Close{Close: &accountantv1.Close{}}},
	}
	s := &spending{key: "run", labels: map[uint64]string{}, open: map[uint64]*holding{}, spent: map[string]map[mechanism.Mechanism]int64{}}
	for i, e := range entries {
		e.Position = uint64(i + 1)
		if err := s.add(e); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int64{}
	for value, spent := range s.spent {
		for _, n := range spent {
			got[value] += n
		}
	}
	// 5 − 5 + 20 of a; 10, the 70 that were left, and the 6 at the end of b; 3 and 2
	// without a label.
	if want := map[string]int64{"a": 20, "b": 86, unlabelled: 5, everything: 111}; !maps.Equal(got, want) {
		t.Errorf("%v; want %v", got, want)
	}
	if err := s.add(&accountantv1.Entry{Position: 14, Action: &accountantv1.Entry_Expire{Expire: &accountantv1.Expire{Reservation: 4}}}); err == nil {
		t.Error("a released reservation expired")
	}
}
