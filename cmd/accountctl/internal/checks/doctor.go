// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/version"
)

// notAnswering is the error of a daemon or a database that does not answer, whose text a finding has.
type notAnswering struct {
	who string
	error
}

func (e notAnswering) Error() string { return e.who + " was not checked; see above for what to do" }

func (e notAnswering) Unwrap() error { return e.error }

// errDoctor is that something failed.
var errDoctor = errors.New("something is wrong: see above")

func doctor(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the daemon, the way to it, and its data directory",
		Long: `Check, a line each with ok, warn or fail and what to do about it: whether the daemon
answers and serves; whether its version is this command's; what it knows of its store
that somebody should look at, such as damage, lost entries or an old backup, which it
tells auditors of everything; whether others can read what is sent, and how long
certificates last; and, on the daemon's machine, the room
on the disk, the permissions in the data directory and, while no daemon runs there,
whether one would start with what is in it. That is --data, or where the socket
accountant.sock in --server lies.

With --store a PostgreSQL database is checked instead, as daemons find it that run on
this machine: what its settings promise of charges that were acknowledged, its standbys,
what lies between, the user's rights, the tables' version, the store and the clock.
Nothing in it is changed. docs/fleet.md says what a database needs.

Exit status: 0 if nothing failed; 4 if the daemon, or the database, does not answer;
otherwise 1. So it also serves as a probe.`,
		Example: `  accountctl doctor
  accountctl doctor --server unix:/var/lib/accountant/accountant.sock
  accountctl doctor --server accountant.example.org:7878 --tls-ca ca.crt --output json
  accountctl doctor --store 'postgres://accountant@db:5432/ledgers?sslmode=verify-full' --store-password-file password`,
		Args: cli.Arguments(),
	}
	data := c.Flags().String("data", "", "the daemon's data `directory`, if it is on this machine")
	var in database
	in.addFlags(c)
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if err := in.check(c, *data); err != nil {
			return err
		}
		var found []finding
		if in.URL != "" {
			p.Server = in.Name() // in messages
			found, err = in.examine(c.Context())
		} else {
			found, err = examine(p, c, cmp.Or(*data, ownDirectory(p.Server)))
		}
		var wrong *cli.UsageError
		if errors.As(err, &wrong) {
			return err
		}
		if e := writeFindings(p, found, output.Value); e != nil {
			return e
		}
		return err
	}
	return c
}

// ownDirectory is the data directory whose own socket server is; "" if it is not: a
// socket for others has no ledgers beside it.
func ownDirectory(server string) string {
	path, ok := strings.CutPrefix(server, "unix:")
	dir := filepath.Dir(strings.TrimPrefix(path, "//"))
	if !ok || filepath.Base(path) != "accountant.sock" {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(dir, persist.FileName)); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return dir
}

// examine makes all checks. The error is that of the daemon that does not answer, or
// that something else failed.
func examine(p *cli.Program, c *cobra.Command, data string) (found []finding, err error) {
	var h client.Health
	var policy *accountantv1.GetAccessResponse
	var kept []finding // what the daemon says of its store
	unreachable := p.With(c, func(daemon *client.Client) (err error) {
		if h, err = daemon.Health(c.Context()); err == nil && h.Serving {
			// Whoever may not ask about it is told nothing of it.
			policy, _ = daemon.GetAccess(c.Context(), &accountantv1.GetAccessRequest{})
			kept = statusFindings(daemon.StoreStatus(c.Context()))
		}
		return err
	})
	switch {
	case unreachable != nil:
		what, _ := strings.CutSuffix(cli.Describe(unreachable, p.Server, nil), "; "+cli.NoDaemon)
		found = append(found, finding{"server", foundFail, what, cli.NoDaemon})
	case !h.Serving:
		found = append(found, finding{"server", foundFail, p.Server + " is stopping",
			"wait for its restart, or start it"})
	default:
		found = append(found, finding{"server", foundOK, p.Server + " serves", ""})
	}
	if unreachable == nil {
		found = append(found, versionFinding(h.Version, version.String()), wayFinding(p, h))
		if policy != nil {
			found = append(found, accessFinding(policy))
		}
		if h.TLS != nil {
			found = append(found, certificateFinding("server certificate", h.TLS.PeerCertificates[0], time.Now()))
		}
	}
	found = append(found, kept...)
	if data != "" {
		if d, ok := diskFinding(data); ok {
			found = append(found, d)
		}
		found = append(found, permissionFindings(data)...)
		found = append(found, storeFindings(data)...)
	}
	if unreachable != nil {
		return found, notAnswering{"the daemon", unreachable}
	}
	return found, failing(found)
}

// failing returns an error if one of the findings failed.
func failing(found []finding) error {
	for _, f := range found {
		if f.Result == foundFail {
			return errDoctor
		}
	}
	return nil
}

func versionFinding(daemon, own string) finding {
	switch daemon {
	case own:
		return finding{"version", foundOK, own, ""}
	case "":
		return finding{"version", foundWarn, fmt.Sprintf("the daemon does not say; this is %s", own),
			"install the same release on both sides"}
	}
	return finding{"version", foundWarn, fmt.Sprintf("the daemon is %s, this is %s", daemon, own),
		"install the same release on both sides"}
}

// wayFinding says who else can read what is sent.
func wayFinding(p *cli.Program, h client.Health) finding {
	switch {
	case strings.HasPrefix(p.Server, "unix:"):
		return finding{"connection", foundOK, "a Unix socket; the kernel tells the daemon who calls", ""}
	case h.TLS != nil && (p.TLSCert != ""):
		return finding{"connection", foundOK, "TLS; a certificate is there to tell the daemon who calls", ""}
	case h.TLS != nil:
		return finding{"connection", foundOK, "TLS; who calls is not proven", ""}
	case !p.Insecure:
		return finding{"connection", foundOK, "plain text on this machine; who calls is not proven", ""}
	}
	return finding{"connection", foundWarn, "plain text, which others on the way can read and change",
		"give accountantd --tls-cert and --tls-key, and this command --tls-ca"}
}

// certificateFinding warns two weeks ahead.
func certificateFinding(what string, cert *x509.Certificate, now time.Time) finding {
	left := cert.NotAfter.Sub(now)
	f := finding{what, foundOK, fmt.Sprintf("%s, valid until %s", cli.Clean(cert.Subject.String()),
		cert.NotAfter.UTC().Format(time.RFC3339)), ""}
	if left < 14*24*time.Hour && left < cert.NotAfter.Sub(cert.NotBefore)/3 {
		f.Result, f.Advice = foundWarn, "renew it; the daemon reads the new files by itself"
	}
	return f
}

func writeFindings(p *cli.Program, found []finding, format string) error {
	if format == cli.FormatJSON {
		e := json.NewEncoder(p.Out)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Findings []finding `json:"findings"`
		}{found})
	}
	for _, f := range found {
		text := f.Detail
		if f.Advice != "" {
			text += "; " + f.Advice
		}
		p.ItemAt(4+2+18+2, fmt.Sprintf("%s  %-18s  ", paint(p, f.Result), f.Check), text)
	}
	return nil
}

// colours of results, as SGR numbers (ECMA-48).
var colours = map[string]int{foundOK: 32, foundWarn: 33, foundFail: 31}

// paint colours a result on a terminal, padded to four columns, unless NO_COLOR is
// set (no-color.org) or the terminal is dumb.
func paint(p *cli.Program, result string) string {
	text := fmt.Sprintf("%-4s", result)
	if !p.Colour {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", colours[result], text)
}
