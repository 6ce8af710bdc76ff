// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"strings"

	"github.com/dpaccountant/accountant/internal/ledger/budget"
	"github.com/dpaccountant/accountant/internal/mechanism"
)

// SetRefusal is a refusal of a request about several ledgers. Nothing was written to any of them.
type SetRefusal struct {
	Refused []MemberRefusal  // by name
	Set     []string         // all ledgers, by name
	Fits    []mechanism.Part // how many of each mechanism, alone, fit in every ledger; nil: not known
}

// MemberRefusal says why one ledger has refused it.
type MemberRefusal struct {
	Ledger string
	Err    error
}

// Reason is the error's text without the ledger's name, which stands before it.
func (m MemberRefusal) Reason() string {
	return strings.TrimPrefix(m.Err.Error(), "ledger "+m.Ledger+": ")
}

// maxNamed bounds the ledgers that a message names.
const maxNamed = 3

func (e *SetRefusal) Error() string {
	text := fmt.Sprintf("%d of the %d ledgers refuse it, and nothing was written to any of them", len(e.Refused),
		len(e.Set))
	for _, m := range e.Refused[:min(len(e.Refused), maxNamed)] {
		text += fmt.Sprintf("; ledger %s: %s", m.Ledger, m.Reason())
	}
	if n := len(e.Refused) - maxNamed; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	for i, p := range e.Fits[:min(len(e.Fits), budget.MaxListed)] {
		before := "; allowed in all of them: "
		if i > 0 {
			before = ", or "
		}
		text += fmt.Sprintf("%s%d × %v", before, p.Count, p.Mechanism)
	}
	return text
}

// Unwrap returns the errors of the ledgers.
func (e *SetRefusal) Unwrap() []error {
	all := make([]error, len(e.Refused))
	for i, m := range e.Refused {
		all[i] = m.Err
	}
	return all
}
