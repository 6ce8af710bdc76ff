// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/durable"
)

func backup(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the daemon's store while it serves",
		Long: `Copy all ledgers of a daemon to a file, as they are at one moment, while it goes on
serving. Without an access policy only the daemon's owner can do this, over its own
socket: --server unix:DIR/accountant.sock. With a policy, administrators can, too. Where
several daemons serve one database, only they can once a policy is in force.

Size and SHA-256 are compared with the daemon's; FILE appears when all of it is
there and durable. The key that signs heads is not in it. "accountctl verify
--backup FILE" checks everything in it.`,
		Example: `  accountctl backup ledgers.backup --server unix:/var/lib/accountant/accountant.sock
  accountctl backup ledgers.backup --force --output json`,
		Args: cli.Arguments("FILE"),
	}
	force := c.Flags().Bool("force", false, "replace FILE if it is there")
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		file := args[0]
		if _, err := os.Lstat(file); err == nil && !*force {
			return cli.Usage(c, "%s: is there already; allowed: another file, or --force to replace it", file)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.BadFile(file, err)
		}
		var end *accountantv1.BackupResponse_End
		if err := p.With(c, func(daemon *client.Client) (err error) {
			end, err = backUp(c.Context(), p, daemon, file, *force)
			return err
		}); err != nil {
			return err
		}
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(end)
		}
		p.Paragraph(fmt.Sprintf("backed up: %s, %s, SHA-256 %x", file, byteText(end.GetSize()), end.GetSha256()))
		return nil
	}
	return c
}

// backUp writes beside file, and gives it its name once it is whole and durable.
func backUp(ctx context.Context, p *cli.Program, daemon *client.Client, file string,
	force bool) (end *accountantv1.BackupResponse_End, err error) {
	dir := filepath.Dir(file)
	f, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*.tmp") // mode 0600
	if err != nil {
		return nil, cli.BadFile(file, err)
	}
	defer func() {
		if e := os.Remove(f.Name()); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}()
	progress := p.ProgressOf("backup", byteText)
	end, err = daemon.Backup(ctx, f, progress.Set)
	progress.End()
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if force {
		err = os.Rename(f.Name(), file)
	} else if err = os.Link(f.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(f.Name(), file) // a file system without links
	}
	if err != nil {
		return nil, err
	}
	return end, durable.SyncDirectory(dir)
}
