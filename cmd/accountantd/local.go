// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/version"
)

// The programs of one user share ledgers without a standing daemon: Client.local in Python. docs/decisions/local.md
// says how both sides agree on who starts the daemon and when it ends. In the ledger directory, each program that uses
// it holds a shared lock (flock) on the file localLock. The kernel takes the lock away when the program ends, however
// it ends. The daemon waits until nobody holds the lock any more.
const (
	// localLock is locked by every program that uses the ledger directory.
	localLock = "local.lock"
	// localSocket is the daemon's own socket. It has another name than the socket of a daemon
	// that somebody started by hand, so that programs can tell the two apart.
	localSocket = "local.sock"
	// localGrace is how long a daemon that nobody uses waits before it ends, so that a program
	// which is started again finds it.
	localGrace = time.Second
)

const localHelp = `Serve the ledgers in DIR to the programs of one user, as long as one of them
uses DIR.

Programs start this by themselves, such as Client.local(DIR) in Python; nobody
needs to type it. A program uses DIR while it holds a shared lock (flock) on
local.lock in DIR. When no program has held one for a second, the daemon ends.
Until then it listens on local.sock in DIR, a Unix socket for its owner only,
and nowhere else.

DIR must be on a disk of this machine. On a network file system locks and
syncing cannot be relied on, so it is refused.`

// localCommand parses the command line of a private daemon.
func localCommand(env []string, serve func(context.Context, settings) error) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:     "local --data DIR",
		Short:   "Serve a directory to the programs of one user while they use it",
		Long:    localHelp,
		Example: "  accountantd local --data ./ledgers",
		RunE: func(c *cobra.Command, _ []string) error {
			daemon := newCommand(nil, func(ctx context.Context, s settings) error {
				s.local = true
				return serve(ctx, s)
			})
			daemon.SetArgs([]string{"--data", data, "--listen", "", "--http", "", "--metrics-ledgers", "0",
				"--grace-period", "5s", "--log-level", "warn"})
			return daemon.ExecuteContext(c.Context())
		},
	}
	c.Flags().StringVar(&data, "data", "", "`directory` of the ledgers, which must be there")
	takesData(c, env, &data, "a directory")
	return c
}

// whileUsed returns a context that ends with ctx, or when nobody uses the directory any more.
func whileUsed(ctx context.Context, data string) (context.Context, error) {
	ctx, cancel := context.WithCancel(ctx)
	note := fmt.Sprintf("process %d, accountantd %s\n", os.Getpid(), version.String())
	if err := whileLocked(filepath.Join(data, localLock), note, localGrace, cancel); err != nil {
		cancel()
		return nil, err
	}
	return ctx, nil
}

// onNetwork says why a directory is refused.
func onNetwork(dir, name string) error {
	return fmt.Errorf("%s is on a network file system (%s), where locks and syncing cannot be relied on, so a charge "+
		"could be lost; use a directory on this machine's own disk, or run accountantd where the disk is and give its "+
		"address to the programs", dir, name)
}
