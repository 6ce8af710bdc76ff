// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"
	"unicode"
)

// A character that nobody sees makes no second dataset. The first eight were twins of a registered dataset
// with a fresh budget once; the ranges are Default_Ignorable_Code_Point of Unicode 15 (DerivedCoreProperties.txt),
// which Go's tables do not have under that name.
func TestInvisibleTwins(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{0x3164, 0x115F, 0x034F, 0xFE0F, 0x180B, 0x17B4, 0xE0100, 0x2800,
		' ', '\t', 0x00A0, 0x200B, 0x2060, 0xFEFF, 0xE000, 0x0378, 0x1D159, 0xFFFC, 0x13441, 0x13442, 0x16FE4} {
		alike(t, r)
	}
	for _, span := range [][2]rune{{0xAD, 0xAD}, {0x34F, 0x34F}, {0x61C, 0x61C}, {0x115F, 0x1160}, {0x17B4, 0x17B5},
		{0x180B, 0x180F}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F}, {0x3164, 0x3164}, {0xFE00, 0xFE0F},
		{0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
		{0xE0000, 0xE0FFF}} {
		for r := span[0]; r <= span[1]; r++ {
			alike(t, r)
		}
	}
}

// A dot above i or j, which have one, is not seen either; İ is folded to i with such a dot.
func TestDottedTwins(t *testing.T) {
	t.Parallel()
	for _, twin := range []string{"di\u0307jon", "dij\u0307on", "d\u0130jon", "di\u0307\u0307j\u0307on"} {
		if got := DatasetName(twin); got != "dataset:dijon" {
			t.Errorf("%+q is %+q", twin, got)
		}
	}
}

func alike(t *testing.T, r rune) {
	t.Helper()
	for _, twin := range []string{"survey" + string(r), "sur" + string(r) + "vey", string(r) + "Survey"} {
		if got := DatasetName(twin); got != "dataset:survey" {
			t.Errorf("%U: %+q is %+q", r, twin, got)
		}
	}
}

// What is seen stays: identifiers that look different are different datasets.
func TestVisibleIdentifiers(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"Größe": "dataset:grösse", "调查": "dataset:调查", "a\u0301": "dataset:á",
		"x-1.2_z/y": "dataset:x-1.2_z/y", "①": "dataset:1", "Ꭰ": "dataset:ꭰ", "ꭰ": "dataset:ꭰ", "नाम": "dataset:नाम"} {
		if got := DatasetName(id); got != want {
			t.Errorf("%s: %+q; want %+q", id, got, want)
		}
	}
	for r := rune(0); r <= unicode.MaxRune; r++ { // the name of a name is the name
		if name := DatasetName("x" + string(r)); DatasetName(name[len(DatasetsPrefix):]) != name {
			t.Errorf("%U: %q; want %q", r, DatasetName(name[len(DatasetsPrefix):]), name)
		}
	}
}
