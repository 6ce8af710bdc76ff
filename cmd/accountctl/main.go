// Command accountctl asks and manages the privacy accountant: it computes what
// a workload file costs without a daemon, and creates, charges, queries and
// closes the ledgers of accountantd.
//
// One file a subcommand. Scripts depend on its flags, JSON and exit statuses:
// 0 done, 2 flags or files wrong, 3 refused, 4 no answer, 1 anything else, with
// one line on standard error.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], cobra.ShellCompRequestCmd) {
		for _, w := range version.Misspelt(os.Environ()) {
			fmt.Fprintln(os.Stderr, "accountctl: warning: "+w)
		}
	}
	status := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	os.Exit(status)
}
