// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
--backup FILE" checks everything in it.

With --final the ledgers move: the daemon's store marks itself as moved away and
refuses everything from then on, also after a restart. "accountantd restore FILE"
makes the store that goes on, in a directory or in a database: with the same
identifier, writers, reservations and receipts, and with nothing to reconcile. Jobs
that try again go on when a daemon answers there. If FILE does not arrive, ask again,
or restore the accountant.db of the stopped daemon itself; use one of the files only.

With --final and --store no daemon is asked: the final backup of a database whose
ledgers were moved away is made again, for when it was lost and the daemons have ended.`,
		Example: `  accountctl backup ledgers.backup --server unix:/var/lib/accountant/accountant.sock
  accountctl backup ledgers.backup --force --output json
  accountctl backup moving.backup --final --yes
  accountctl backup again.backup --final --yes --store postgres://accountant@db:5432/ledgers`,
		Args: cli.Arguments("FILE"),
	}
	force := c.Flags().Bool("force", false, "replace FILE if it is there")
	final := c.Flags().Bool("final", false, "move the ledgers: the daemon's store refuses everything from then on")
	yes := c.Flags().Bool("yes", false, "do not ask whether the ledgers are to move")
	var moved movedStore
	moved.addFlags(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		file := args[0]
		if _, err := os.Lstat(file); err == nil && !*force {
			return cli.Usage(c, "%s: is there already; allowed: another file, or --force to replace it", file)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cli.BadFile(file, err)
		}
		if err := moved.check(c, *final); err != nil {
			return err
		}
		if *final && !*yes {
			if err := confirmFinal(p, c, moved.URL != ""); err != nil {
				return err
			}
		}
		var end *accountantv1.BackupResponse_End
		var err error
		if moved.URL != "" {
			end, err = backUp(c.Context(), p, moved.fetch, file, *force)
		} else {
			err = p.With(c, func(daemon *client.Client) (err error) {
				fetch := daemon.Backup
				if *final {
					fetch = daemon.FinalBackup
				}
				end, err = backUp(c.Context(), p, fetch, file, *force)
				return err
			})
		}
		if err != nil {
			return err
		}
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(end)
		}
		p.Paragraph(fmt.Sprintf("backed up: %s, %s, SHA-256 %x", file, byteText(end.GetSize()), end.GetSha256()))
		switch {
		case moved.URL != "":
			p.Paragraph(fmt.Sprintf("This is the final backup of %s again: make one store of it, by "+
				"\"accountantd restore %s\" and --data NEWDIR or --store, unless a store was made of an earlier one.",
				moved.Name(), file))
		case *final:
			p.Paragraph(fmt.Sprintf("The daemon's store is moved away: stop the daemon, and make the store that goes "+
				"on with \"accountantd restore %s\" and --data NEWDIR or --store.", file))
		}
		return nil
	}
	return c
}

// confirmFinal asks on a terminal whether the ledgers are to move. Elsewhere --yes must say so.
func confirmFinal(p *cli.Program, c *cobra.Command, again bool) error {
	question, no := "After a final backup the daemon's store refuses everything, and its ledgers go on only in the "+
		"store that is made of FILE. Go on? [y/N] ", "no backup was made, and the daemon goes on"
	if again {
		question, no = "If a store was made of an earlier final backup, one that is made of FILE would spend the same "+
			"budgets once more. Was none made? [y/N] ", "no backup was made; use the store that was made of the "+
			"earlier one"
	}
	if !cli.IsTerminal(p.In) || !cli.IsTerminal(p.Err) {
		return cli.Usage(c, "--final ends the daemon's store: it refuses everything from then on; allowed: with --yes")
	}
	_, _ = fmt.Fprint(p.Err, question)
	line, err := bufio.NewReader(p.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if reply := strings.ToLower(strings.TrimSpace(line)); reply != "y" && reply != "yes" {
		return errors.New(no)
	}
	return nil
}

// fetch writes a backup that the daemon makes.
type fetch func(ctx context.Context, w io.Writer,
	progress func(done, total uint64)) (*accountantv1.BackupResponse_End, error)

// backUp writes beside file, and gives it its name once it is whole and durable.
func backUp(ctx context.Context, p *cli.Program, fetch fetch, file string,
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
	end, err = fetch(ctx, f, progress.Set)
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
