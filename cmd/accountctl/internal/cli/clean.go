// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/dpaccountant/accountant/internal/plain"

// Clean keeps text that others wrote from breaking the table or steering the
// terminal.
func Clean(s string) string { return plain.Text(s) }
