// SPDX-License-Identifier: Apache-2.0

package budgets

import "github.com/spf13/cobra"

// reservationFlag adds --reservation.
func reservationFlag(c *cobra.Command) *uint64 {
	return c.Flags().Uint64("reservation", 0, "the `POSITION` of the entry that made it; ledger show lists them")
}
