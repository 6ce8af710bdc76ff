// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"math"
	"strconv"
	"strings"
)

// smallestNormal is the least positive float64 with full precision. Smaller
// (subnormal) parameters are refused: they are always a mistake, and carry
// fewer digits than the analyses promise.
const smallestNormal = 0x1p-1022

const positive = "a finite number > 0 (at least 2.3e-308)"

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// checkPositive accepts finite normal numbers > 0. Zero stands for "not given".
func checkPositive(field string, v float64) error {
	switch {
	case v == 0:
		return &ParameterError{field, "missing or 0", positive}
	case !(v >= smallestNormal) || math.IsInf(v, 1):
		return &ParameterError{field, number(v), positive}
	}
	return nil
}

// checkProbability accepts (0, 1], or (0, 1) when open.
func checkProbability(field string, v float64, open bool) error {
	allowed := "a number in (0, 1], at least 2.3e-308"
	if open {
		allowed = "a number in (0, 1), at least 2.3e-308"
	}
	switch {
	case v == 0:
		return &ParameterError{field, "missing or 0", allowed}
	case !(v >= smallestNormal && v <= 1) || open && v == 1:
		return &ParameterError{field, number(v), allowed}
	}
	return nil
}

// given is one of several alternative fields of a descriptor.
type given struct {
	name  string
	value float64
}

// exactlyOne returns the single alternative that is given (non-zero).
func exactlyOne(kind string, alternatives ...given) (given, error) {
	var found []given
	names := make([]string, len(alternatives))
	for i, a := range alternatives {
		names[i] = a.name
		if a.value != 0 {
			found = append(found, a)
		}
	}
	allowed := "exactly one of " + strings.Join(names, ", ")
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return given{}, &ParameterError{kind + "." + names[0], "missing", allowed}
	}
	return given{}, &ParameterError{kind + "." + found[1].name, "given together with " + found[0].name, allowed}
}

// checkAdjacency refuses the zero value and values from a newer API.
func checkAdjacency(adj Adjacency) error {
	if adj.Valid() {
		return nil
	}
	return &ParameterError{"adjacency", adj.String(), "ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT"}
}

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
