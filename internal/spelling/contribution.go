// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"fmt"
	"strings"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Contributions are the API's, as flags spell them.
func Contributions() (out []string) {
	for i := 1; i < len(accountantv1.SetPart_Contribution_name); i++ {
		out = append(out, Contribution(accountantv1.SetPart_Contribution(i)))
	}
	return out
}

// Contribution is a contribution as --contribution takes it.
func Contribution(c accountantv1.SetPart_Contribution) string {
	return strings.ToLower(Dashed(c.String()))
}

// Held is what an open reservation still holds, and whose rows the sensitivity bounds where several ledgers are asked.
func Held(r *accountantv1.Reservation) string {
	held := Events(r.GetRest())
	if r.GetRestOmitted() {
		held = fmt.Sprintf("%d applications of mechanisms that are too large to be listed here", r.GetRestCount())
	}
	if c := r.GetContribution(); c != accountantv1.SetPart_CONTRIBUTION_UNSPECIFIED {
		held += fmt.Sprintf(", of several ledgers (%s)", Contribution(c))
	}
	return held
}
