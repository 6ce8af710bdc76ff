package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
)

// Somebody waits at a prompt, and reads no more names than this.
const (
	completionPatience = time.Second
	completionNames    = 100
)

func (p *program) completion() *cobra.Command {
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
			if err := names("SHELL")(c, args); err != nil {
				return err
			}
			if !slices.Contains(shells, args[0]) {
				return usage(c, "shell: %q; allowed: %s", args[0], strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch root := c.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(p.out, true)
			case "zsh":
				return root.GenZshCompletion(p.out)
			case "fish":
				return root.GenFishCompletion(p.out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(p.out)
			}
		},
	}
}

// completeLedger asks the daemon which names begin like the first argument. Whatever
// fails, there is nothing to complete.
func (p *program) completeLedger(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var found []string
	if len(args) == 0 {
		ctx, cancel := context.WithTimeout(c.Context(), completionPatience)
		defer cancel()
		_ = p.with(c, func(daemon *client.Client) error {
			for l, err := range daemon.ListLedgers(ctx, begun) {
				if err != nil || len(found) == completionNames {
					return err
				}
				found = append(found, l.GetName())
			}
			return nil
		})
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
