package checks

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

func storeStatus(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Show when the store was last verified and backed up",
		Long: `Show where the daemon keeps its ledgers, what protects an acknowledged charge there,
when everything was last verified, and how old the newest backup is. What somebody
should look at is a warning on standard error: damage, and a verification or a backup
that is missing or at least seven days old.

The daemon knows only of backups that "accountctl backup" has made. With an access
policy only auditors of everything may ask.`,
		Example: `  accountctl status
  accountctl status --output json`,
		Args: cli.Arguments(),
	}
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, _ []string) error {
		ask := func(ctx context.Context, daemon *client.Client) (*accountantv1.GetStoreStatusResponse, error) {
			return daemon.StoreStatus(ctx)
		}
		s, err := cli.Ask(p, c, ask)
		if err != nil {
			return err
		}
		if output.Value == cli.FormatJSON {
			return p.WriteJSON(s)
		}
		t := p.Table()
		t.Row("daemon", fmt.Sprintf("%s, started %s", s.GetVersion(), spelling.Time(s.GetStartTime())))
		t.Row("store", fmt.Sprintf("%s, a %s", s.GetStoreId(), s.GetKind()))
		for _, promise := range s.GetPromises() {
			t.Row("promise", promise)
		}
		t.Row("last verification", verificationText(s))
		t.Row("newest backup", backupText(s))
		if b := s.GetNewestBackup(); b != nil {
			t.Row("backup's SHA-256", hex.EncodeToString(b.GetSha256()))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		p.Warn(s.GetWarnings())
		return nil
	}
	return c
}

func verificationText(s *accountantv1.GetStoreStatusResponse) string {
	v := s.GetLastVerification()
	if v == nil {
		return "none is known"
	}
	found := "nothing is damaged"
	if v.GetDamage() != "" {
		found = "damaged: " + v.GetDamage()
	}
	return fmt.Sprintf("%s, of %s: %s", spelling.Time(v.GetEndTime()), v.GetOf(), found)
}

func backupText(s *accountantv1.GetStoreStatusResponse) string {
	b := s.GetNewestBackup()
	if b == nil {
		return "none is known"
	}
	age := s.GetTime().AsTime().Sub(b.GetTime().AsTime()).Truncate(time.Second)
	return fmt.Sprintf("%s (%s old), %s, sent to %s", spelling.Time(b.GetTime()), age, byteText(b.GetSize()),
		b.GetPrincipal())
}
