// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// Stored records are made of the API's messages. The functions of this file are parts of
// their conversion that package record alone needs.

// CheckSpec checks a spec of the domain, as ReadSpec does.
func CheckSpec(s ledger.Spec) error {
	if err := checkSpec(s); err != nil {
		return err
	}
	if !s.Adjacency.Valid() {
		return Invalid("adjacency", s.Adjacency.String(), "ADD_OR_REMOVE_ONE, REPLACE_ONE or ZERO_OUT")
	}
	return checkLabels("labels", s.Labels)
}

// Unknown reports whether the error is that a message has a field which this version does
// not know.
func (e *InvalidError) Unknown() bool { return strings.HasPrefix(e.Value, unknownFieldText) }
