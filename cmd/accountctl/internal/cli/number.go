// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Number is a float64 in JSON, ∞ as the API spells it.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch f := float64(n); {
	case math.IsInf(f, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(f, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return json.Marshal(f)
	}
}

// errNotWhole is the error of a text that is no whole number.
var errNotWhole = errors.New("no whole number")

// written is a number with an underscore between digits, or with an exponent, as programs write large ones.
var written = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]+(_[0-9]+)*(\.[0-9]+)?([eE]\+?[0-9]{1,2})?$`)
})

// Whole reads a whole number of at most so many bits: 60000, 60_000 or 6e4. It rounds nothing, and refuses 60.000,
// which is 60 to some and 60000 to others.
func Whole(text string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, bits)
	if err == nil || !written().MatchString(text) || points().MatchString(text) {
		return n, err
	}
	exact, ok := new(big.Rat).SetString(strings.ReplaceAll(text, "_", ""))
	if !ok || !exact.IsInt() || exact.Num().BitLen() > bits {
		return 0, errNotWhole
	}
	return exact.Num().Uint64(), nil
}

// Real reads a number: 1.5, 60_000 or 6e4.
func Real(text string) (float64, error) {
	if written().MatchString(text) {
		text = strings.ReplaceAll(text, "_", "")
	}
	return strconv.ParseFloat(text, 64)
}
