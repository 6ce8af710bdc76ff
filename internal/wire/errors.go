// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// InvalidError says which field of a request is wrong, what it was and what is
// allowed there. It wraps the *mechanism.ParameterError or
// *mechanism.AdjacencyError it came from, if any.
type InvalidError struct {
	Field   string // path in the API's snake case: "charge.events[0].mechanism.gaussian.sensitivity"
	Value   string // as given, long ones shortened; "missing" where nothing was
	Allowed string
	cause   error
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("%s: %s; allowed: %s", e.Field, e.Value, e.Allowed)
}

// Unwrap returns the domain's own error, or nil.
func (e *InvalidError) Unwrap() error { return e.cause }

const missing = "missing"

func Invalid(field, value, allowed string) *InvalidError {
	return &InvalidError{Field: field, Value: value, Allowed: allowed}
}

func Absent(field, allowed string) *InvalidError { return Invalid(field, missing, allowed) }

// Under places an error below a field: its path gets the prefix "field.".
func Under(field string, err error) error {
	var e *InvalidError
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", field, err)
	}
	moved := *e
	moved.Field = field + "." + e.Field
	return &moved
}

// FromDomain turns what package mechanism refuses into an *InvalidError. Its
// "missing or 0" is "missing" here: a present 0 is refused before.
func FromDomain(err error) error {
	var p *mechanism.ParameterError
	var a *mechanism.AdjacencyError
	switch {
	case errors.As(err, &p):
		value := p.Value
		if value == "missing or 0" && !strings.HasSuffix(p.Field, "count") {
			value = missing
		}
		return &InvalidError{p.Field, value, p.Allowed, err}
	case errors.As(err, &a):
		return &InvalidError{a.Kind, "not defined for adjacency " + a.Adjacency.String() + ": " + a.Reason, a.Hint, err}
	}
	return err
}

// MaxShown bounds how much of a wrong value a message repeats.
const MaxShown = 64

// Quote quotes a value, long ones shortened.
func Quote(s string) string {
	if len(s) <= MaxShown {
		return strconv.Quote(s)
	}
	cut := MaxShown
	for cut > MaxShown-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(s[:cut]), len(s))
}
