// SPDX-License-Identifier: Apache-2.0

// Command accountantd is the privacy accountant's daemon: it keeps ledgers in a
// data directory and serves them over gRPC.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"google.golang.org/grpc/grpclog"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	keepWithin(memlimit.FromCgroup)
	saveCollections()
	grpclog.SetLoggerV2(grpcLog{}) // once and first, as gRPC reads it without a lock
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	os.Exit(exitStatus(err, logsJSON(os.Args[1:], os.Environ()), os.Stderr))
}
