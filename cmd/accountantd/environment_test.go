// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/internal/version"
)

// Every flag's variable is known to the warning about those that nothing reads.
func TestEveryVariableIsKnown(t *testing.T) {
	newCommand(nil, nil).Flags().VisitAll(func(f *pflag.Flag) {
		if got := version.Misspelt([]string{version.Prefix +
			strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + "=x"}); got != nil {
			t.Errorf("--%s: %q", f.Name, got)
		}
	})
}
