// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"fmt"
	"strconv"
	"strings"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Mechanism is a mechanism in words; one of a newer daemon is not known.
func Mechanism(m *accountantv1.Mechanism) string {
	known, err := wire.ToMechanism(m)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	return known.String()
}

// Events are events in words: "100 × gaussian(…), 2 × …".
func Events(events []*accountantv1.Event) string {
	parts := make([]string, len(events))
	for i, e := range events {
		count := strconv.FormatUint(uint64(e.GetCount()), 10)
		if e.GetCount() == 0 { // of a plan
			count = "as many as fit"
		}
		parts[i] = count + " × " + Mechanism(e.GetMechanism())
	}
	return strings.Join(parts, ", ")
}
