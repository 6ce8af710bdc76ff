// SPDX-License-Identifier: Apache-2.0

// Command accountctl asks and manages the privacy accountant: it computes what
// mechanisms cost without a daemon, and creates, charges, queries and closes the ledgers
// of accountantd.
//
// The commands are grouped as the help groups them: internal/costs, internal/ledgers,
// internal/budgets and internal/checks, one file a command. What they share lies below
// them, from the bottom: internal/cli is the frame of every command, internal/values
// makes flags of the API's fields, internal/mechanisms and internal/workloads read
// what flags and files describe, internal/several takes several ledgers at once,
// internal/calls makes commands of the API's calls, and internal/answers reads questions
// and writes answers. How values are spelled, statements are written and figures are drawn is in the module's
// internal/spelling, internal/statement and internal/figure, as the daemon's pages show them too.
//
// Scripts depend on flags, JSON and exit statuses: 0 done, 2 flags or files wrong,
// 3 refused, 4 no answer, 1 anything else, with one line on standard error.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	warnOfEnvironment(os.Args[1:], os.Environ(), os.Stderr)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
