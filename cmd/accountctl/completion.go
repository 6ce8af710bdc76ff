// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
)

func completion(p *cli.Program) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print a completion script for a shell",
		Long: `Print a script that completes accountctl's commands and flags, and the names of
ledgers if the daemon answers. Load it in the shell's start-up file, or put it where the
shell looks for completions.`,
		Example: `  source <(accountctl completion bash)
  accountctl completion zsh > "${fpath[1]}/_accountctl"
  accountctl completion fish > ~/.config/fish/completions/accountctl.fish`,
		ValidArgs: shells,
		Args: func(c *cobra.Command, args []string) error {
			if err := cli.Arguments("SHELL")(c, args); err != nil {
				return err
			}
			if !slices.Contains(shells, args[0]) {
				return cli.Usage(c, "shell: %q; allowed: %s", args[0], strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch root := c.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.Out, true)
			case "zsh":
				return root.GenZshCompletion(p.Out)
			case "fish":
				return root.GenFishCompletion(p.Out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(p.Out)
			}
		},
	}
}
