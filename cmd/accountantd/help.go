// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// columns is how wide the help is at most.
const columns = 80

// common are the flags that most daemons are started with.
var common = []string{"data", "listen", "http", "store", "signing-key", "tls-cert", "tls-key", "tls-client-ca",
	"access-policy", "token-issuer", "token-audience"}

// writeUsage is what the help of a command shows below its description: how it is called, examples, the commands below
// it, and its flags, the common ones first.
func writeUsage(c *cobra.Command) error {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			fmt.Fprintf(&b, "%s\n%s\n\n", title, text)
		}
	}
	section("Usage:", "  "+c.UseLine())
	section("Examples:", c.Example)
	var below string
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			below += fmt.Sprintf("  %-*s %s\n", child.NamePadding(), child.Name(), child.Short)
		}
	}
	section("Commands:", below)
	first, others := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	first.SortFlags, others.SortFlags = false, false
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if c.HasParent() || slices.Contains(common, f.Name) {
			first.AddFlag(f)
		} else {
			others.AddFlag(f)
		}
	})
	section("Flags:", first.FlagUsagesWrapped(columns))
	section("All other flags:", others.FlagUsagesWrapped(columns))
	_, err := fmt.Fprint(c.OutOrStdout(), strings.TrimRight(b.String(), "\n")+"\n")
	return err
}
