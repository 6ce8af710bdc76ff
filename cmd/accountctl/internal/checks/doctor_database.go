// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/internal/persist/postgres/inspect"
	"github.com/dpaccountant/accountant/internal/persist/postgres/reach"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// database is which database the doctor looks at, instead of a daemon.
type database struct {
	reach.Address
	signingKey string
}

func (d *database) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&d.URL, "store", "", "check this PostgreSQL database instead of a daemon: the `address` that daemons "+
		"are given, postgres://USER@HOST:PORT/DATABASE")
	f.StringVar(&d.PasswordFile, "store-password-file", "", "`file` with the database user's password")
	f.StringVar(&d.signingKey, "signing-key", "", "PEM `file` of the key that daemons of --store are given, to compare")
}

// check refuses flags that do not fit together.
func (d *database) check(c *cobra.Command, data string) error {
	switch {
	case d.URL == "" && (d.PasswordFile != "" || d.signingKey != ""):
		return cli.Usage(c, "--store: missing; --store-password-file and --signing-key are about a database")
	case d.URL == "":
		return nil
	case data != "":
		return cli.UsageOf(c, "--store", "--data %s and --store are both given; allowed: one of them, as the ledgers "+
			"are in a directory or in a database", data)
	case c.Flags().Changed("server"):
		return cli.UsageOf(c, "--store", "--server and --store are both given; allowed: one of them: with --store "+
			"the database is asked, and no daemon")
	}
	return checkAddress(c, d.Address)
}

// checkAddress refuses an address of --store that cannot be one, or is not safe.
func checkAddress(c *cobra.Command, a reach.Address) error {
	scheme, _, ok := strings.Cut(a.URL, "://")
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return cli.UsageOf(c, "--store", "--store: an address of another form; allowed: "+
			"postgres://USER@HOST:PORT/DATABASE")
	}
	if _, err := a.Parse(0); err != nil {
		return cli.UsageOf(c, "--store", "--store: %v", err)
	}
	return nil
}

// examine looks at the database and says what it found.
func (d *database) examine(ctx context.Context) ([]finding, error) {
	f, err := inspect.Look(ctx, d.Address)
	if err != nil {
		what, advice, ok := strings.Cut(cli.Clean(err.Error()), "; allowed: ")
		if !ok {
			advice = "give daemons and this command an address and a user that work: docs/fleet.md"
		}
		found := []finding{{"database", foundFail, what, advice}}
		if errors.Is(err, inspect.ErrNoAnswer) {
			return found, notAnswering{"the database", status.Error(codes.Unavailable, err.Error())}
		}
		return append(found, d.findings(f)...), errDoctor
	}
	found := append([]finding{{"database", foundOK, fmt.Sprintf("%s is PostgreSQL %s%s", d.Name(), f.Version,
		timelineText(f.Timeline)), ""}}, d.findings(f)...)
	return found, failing(found)
}

func timelineText(timeline int64) string {
	if timeline == 0 {
		return ""
	}
	return fmt.Sprintf(", on timeline %d, which is one higher after each failover", timeline)
}

// findings says what the facts mean. It leaves out what was not found out.
func (d *database) findings(f inspect.Facts) (found []finding) {
	if f.Version == "" {
		return nil
	}
	found = append(found, encryptionFinding(f))
	if f.Certificate != nil {
		found = append(found, certificateFinding("server certificate", f.Certificate, time.Now()))
	}
	found = append(found, crashFinding(f), standbyFinding(f), waitFinding(f), checksumFinding(f), clockFinding(f))
	if f.User == "" {
		return found
	}
	found = append(found, userFinding(f), tablesFinding(f), sessionsFinding(f), poolerFinding(f))
	switch {
	case f.Moved != nil:
		found = append(found, finding{"store", foundFail, fmt.Sprintf("the ledgers of store %s were moved to %s at "+
			"%s: daemons on this database refuse everything", f.Store, cli.Clean(f.Moved.To),
			f.Moved.At.UTC().Format(time.RFC3339)),
			"use that store; if the move was cut off, run \"accountantd move\" again with the same two places"})
	case f.Store != "":
		found = append(found, finding{"store", foundOK, "the database has the store " + f.Store, ""}, roomFinding(f))
	}
	if len(f.Lost) > 0 {
		found = append(found, finding{"lost entries", foundFail, "the database has lost acknowledged entries of " +
			cli.Clean(inspect.Lossy(f.Lost)) + ", by a failover to a standby that was behind for example: these " +
			"ledgers take nothing", "find in the jobs' logs and receipts what was charged, and say it with " +
			"accountctl ledger reconcile: docs/fleet.md"})
	}
	if d.signingKey != "" && f.Store != "" {
		found = append(found, fleetKeyFinding(d.signingKey, f.Keys))
	}
	if f.Rotating != "" {
		found = append(found, rotatingFinding(d.Name(), f))
	}
	return found
}

func encryptionFinding(f inspect.Facts) finding {
	if f.Certificate != nil {
		return finding{"connection", foundOK, "TLS, and the server's certificate proves that it ends at " + f.Host, ""}
	}
	return finding{"connection", foundOK, "without TLS, to this machine (" + f.Host + ")", ""}
}

// crashFinding is about a crash of the primary's machine.
func crashFinding(f inspect.Facts) finding {
	var off []string
	if !f.Fsync {
		off = append(off, "fsync")
	}
	if !f.FullPageWrites {
		off = append(off, "full_page_writes")
	}
	if len(off) == 0 {
		return finding{"crash", foundOK, "fsync and full_page_writes are on: what was acknowledged survives a crash " +
			"of the primary", ""}
	}
	names := strings.Join(off, " and ")
	return finding{"crash", foundFail, names + " off: a crash of the primary's machine can lose or damage " +
		"charges that were acknowledged", "set " + strings.ReplaceAll(names, " and ", " = on and ") + " = on in " +
		"its postgresql.conf"}
}

// standbyFinding is about the loss of the primary.
func standbyFinding(f inspect.Facts) finding {
	connected := fmt.Sprintf("%d connected", f.Standbys)
	if f.SeesStandbys {
		connected += fmt.Sprintf(", of which commits wait for %d", f.Synchronous)
	}
	if f.LagBytes != nil {
		lag := byteText(uint64(max(0, *f.LagBytes)))
		connected += fmt.Sprintf("; the one that is behind most lacks %s of the log", lag)
	}
	switch {
	case f.SynchronousStandbys == "":
		return finding{"standby", foundWarn, "synchronous_standby_names is empty (standbys: " + connected + "): a " +
			"failover can lose charges that were acknowledged", "set it on the primary, and start daemons with " +
			"--require-standby; where a managed database replicates its disk, nothing is to be done: docs/fleet.md"}
	case !f.SeesStandbys:
		return finding{"standby", foundWarn, fmt.Sprintf("synchronous_standby_names is %q (standbys: %s); the user "+
			"%s may not see whether one is synchronous", f.SynchronousStandbys, connected, f.User),
			fmt.Sprintf("GRANT pg_monitor TO %q", f.User)}
	case f.Synchronous == 0:
		return finding{"standby", foundFail, fmt.Sprintf("synchronous_standby_names is %q, and commits wait for a "+
			"standby that is not there (standbys: %s): every charge waits", f.SynchronousStandbys, connected),
			"start the standby, or look at its log for why it does not follow"}
	}
	return finding{"standby", foundOK, fmt.Sprintf("synchronous_standby_names is %q (standbys: %s): what was "+
		"acknowledged survives the loss of the primary", f.SynchronousStandbys, connected), ""}
}

// waitFinding is about what a commit waits for.
func waitFinding(f inspect.Facts) finding {
	asked := "on"
	if f.SynchronousCommit == "remote_apply" {
		asked = "remote_apply"
	}
	return finding{"commit", foundOK, fmt.Sprintf("synchronous_commit is %s for the user, and each daemon asks for %s",
		f.SynchronousCommit, asked), ""}
}

func checksumFinding(f inspect.Facts) finding {
	if f.Checksums {
		return finding{"checksums", foundOK, "data_checksums is on: the server notices pages that its disk has " +
			"damaged", ""}
	}
	return finding{"checksums", foundWarn, "data_checksums is off: the server does not notice pages that its disk " +
		"has damaged", "stop the server and run pg_checksums --enable"}
}

// mostApart is how far two clocks may be apart without a warning.
const mostApart = time.Second

func clockFinding(f inspect.Facts) finding {
	round := func(d time.Duration) time.Duration { return d.Round(max(time.Millisecond, d/1000)) }
	which, apart := "ahead of", f.Ahead
	if apart < 0 {
		which, apart = "behind", -apart
	}
	text := fmt.Sprintf("the server's clock is %v %s this machine's, give or take %v", round(apart), which,
		max(time.Millisecond, round(f.Within)))
	if apart-f.Within > mostApart {
		return finding{"clocks", foundWarn, text, "run NTP on both: daemons go by the server's clock"}
	}
	return finding{"clocks", foundOK, text, ""}
}

func userFinding(f inspect.Facts) finding {
	switch {
	case f.Schema == "":
		return finding{"user", foundFail, fmt.Sprintf("the search_path of %s names no schema that exists", f.User),
			"ALTER ROLE … SET search_path = public, or another schema that the user may create tables in"}
	case len(f.Lacks) > 0:
		return finding{"user", foundFail, fmt.Sprintf("%s lacks rights that a daemon needs: %s", f.User,
			strings.Join(f.Lacks, ", ")), "let daemons use the user to whom the tables belong, or make them over " +
			"to " + f.User + " (ALTER TABLE … OWNER TO)"}
	case f.Tables < f.Newest && !f.MayCreate:
		return finding{"user", foundFail, fmt.Sprintf("%s may not make tables in the schema %s", f.User, f.Schema),
			fmt.Sprintf("GRANT CREATE ON SCHEMA %s TO %s, or let the database belong to that user", f.Schema, f.User)}
	case len(f.NotOwner) > 0:
		return finding{"user", foundWarn, fmt.Sprintf("%s may use the tables, and some belong to somebody else: %s",
			f.User, strings.Join(f.NotOwner, ", ")), "make them over to " + f.User + " (ALTER TABLE … OWNER TO): the " +
			"owner alone can bring them up to date and move them"}
	case f.Superuser:
		return finding{"user", foundWarn, f.User + " is a superuser, who can do everything on the server",
			"give daemons a user of their own, to whom only this database belongs"}
	}
	return finding{"user", foundOK, f.User + " may do what a daemon needs, and is no superuser", ""}
}

func tablesFinding(f inspect.Facts) finding {
	switch {
	case len(f.Lacks) > 0:
		return finding{"tables", foundWarn, "they are there, and were not read", "give the user the rights named above"}
	case f.Tables == 0:
		return finding{"tables", foundWarn, "there are none yet",
			"start a daemon, which makes them, or restore a backup"}
	case f.Tables > f.Newest:
		return finding{"tables", foundFail, fmt.Sprintf("version %d, of a newer version of this program; this "+
			"one knows %d",
			f.Tables, f.Newest), "use the newer one, for daemons and for this command"}
	case f.Tables < f.Newest:
		return finding{"tables", foundWarn, fmt.Sprintf("version %d; this program knows %d", f.Tables, f.Newest),
			"the first daemon of this version brings them up to date; earlier ones do not start on them then"}
	}
	return finding{"tables", foundOK, fmt.Sprintf("version %d, the newest that this program knows", f.Tables), ""}
}

// roomFinding is about the room that the tables take.
func roomFinding(f inspect.Facts) finding {
	switch {
	case !f.Autovacuum:
		return finding{"room", foundWarn, "autovacuum is off: the room of merged entries is not used again, and the " +
			"tables grow for ever", "set autovacuum = on and track_counts = on in postgresql.conf"}
	case len(f.NoVacuum) > 0:
		return finding{"room", foundWarn, "autovacuum is off for " + strings.Join(f.NoVacuum, ", ") + ": the room of " +
			"merged entries is not used again, and these tables grow for ever",
			"ALTER TABLE … RESET (autovacuum_enabled), for each of them"}
	case f.Unmerged:
		return finding{"room", foundWarn, "entries of more than an hour ago are not merged: they take several times " +
			"the room", "start a daemon, which merges them within minutes; if one runs, its log says why it cannot"}
	}
	return finding{"room", foundOK, "cold entries are merged, and autovacuum is on", ""}
}

func sessionsFinding(f inspect.Facts) finding {
	text := fmt.Sprintf("%d of %d are free (%s); a daemon uses up to %d", max(0, f.Free), f.Sessions, f.Limit,
		reach.Sessions)
	if f.Free < reach.Sessions {
		return finding{"sessions", foundWarn, text, "raise the " + f.Limit + ", or run fewer daemons"}
	}
	return finding{"sessions", foundOK, text, ""}
}

func poolerFinding(f inspect.Facts) finding {
	switch {
	case f.PerTransaction:
		return finding{"pooler", foundFail, "something between, such as pgbouncer, gives each transaction another " +
			"session of the server: one client's settings, such as synchronous_commit, are then another client's",
			"give daemons the server's own address, or pool_mode = session: docs/fleet.md"}
	case f.Pooled:
		return finding{"pooler", foundWarn, "something between, such as pgbouncer, hands out sessions of the server, " +
			"and leaves each client its own",
			"the server's own address is safer, as a changed pool_mode would break promises"}
	}
	return finding{"pooler", foundOK, "none: the session is the server's own", ""}
}

// fleetKeyFinding compares the file with the key that the store is bound to.
func fleetKeyFinding(path string, keys []rows.BoundKey) finding {
	if len(keys) == 0 || keys[len(keys)-1].Fingerprint == (rows.BoundKey{}).Fingerprint {
		return finding{"signing key", foundOK, "the store is bound to the key of the first daemon that starts", ""}
	}
	want := keys[len(keys)-1].Fingerprint
	advice := "put that one back, or replace it for all daemons by accountantd rotate-key --store (docs/fleet.md)"
	got, err := keyFingerprint(path)
	if err == nil && rows.Replaced(keys, got) {
		advice = "put that one back: this file is an older key, which was replaced and does not come back"
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return finding{"signing key", foundFail, fmt.Sprintf("%s is not there; the store is bound to the key %x", path,
			want), advice}
	case err != nil:
		return finding{"signing key", foundFail, err.Error(), advice}
	case got != want:
		return finding{"signing key", foundFail, fmt.Sprintf("%s is the key %x, the store is bound to %x", path, got,
			want), advice}
	}
	return finding{"signing key", foundOK, fmt.Sprintf("%s is the key %x, to which the store is bound", path, got), ""}
}

// rotatingFinding is about a rotate-key that was cut off, or that has found a daemon after it had bound the database.
func rotatingFinding(name string, f inspect.Facts) finding {
	again := fmt.Sprintf("stop all daemons, run accountantd rotate-key --store %s with that key's file once more, and "+
		"start them with it", name)
	if n := len(f.Keys); n > 0 && hex.EncodeToString(f.Keys[n-1].Fingerprint[:]) == f.Rotating {
		return finding{"rotate-key", foundWarn, fmt.Sprintf("the store was bound to the key %s by a rotate-key that "+
			"has not finished: a daemon may still run with an earlier key, and signs nothing then", f.Rotating), again}
	}
	return finding{"rotate-key", foundWarn, fmt.Sprintf("a rotate-key to the key %s was begun and has not finished: "+
		"the store is still bound to the key from before, and daemons start with that one", f.Rotating),
		again + "; if that file is lost or not wanted any more, give the name of another file, which is made"}
}
