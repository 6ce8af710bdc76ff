// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/version"
	"github.com/dpaccountant/accountant/internal/web/bounds"
)

// settings are the flags' values.
type settings struct {
	listen          []string
	http, data      string
	socketMode      string
	socketOwner     string
	tls             endpoint.TLSFiles
	accessPolicy    string
	tokens          tokens
	storage         storage
	logins          logins
	webhooks        webhooks
	rules           access.Rules
	init            bool
	local           bool // private, for as long as it is used (local.go); no flag sets it
	insecure, pprof bool
	dashboard       bool
	gracePeriod     time.Duration
	analyses        int
	questionTime    time.Duration
	connections     int // of the HTTP port
	metricsLedgers  int
	archiving
	cooling
	scrubInterval       time.Duration
	scrubRate           int
	logLevel, logFormat string
}

const long = `accountantd keeps ledgers of differentially private releases and answers what
they cost. Everything is kept in the data directory: the ledgers in
accountant.db, the key that signs their heads in signing.key, and
accountant.sock, a Unix socket for its owner only that serves the same as the
other addresses, and refunds, raises, reconciling and backups, which are refused
elsewhere. With --store the ledgers are in a PostgreSQL database instead, and
any number of daemons serve them, with the same --signing-key.

Callers are recorded by user id on a Unix socket ("uid:1000"), by the name in
their certificate with --tls-client-ca ("cn:ann"), and otherwise by the name
that they give, marked "unverified:". With --tls-cert every TCP address speaks
TLS. The files are read again when they change; a broken one leaves the one
before in use and is logged.

With --token-issuer and --token-audience a caller may send a token, of an OpenID
Connect provider or of a Kubernetes service account, over TLS, a Unix socket or
loopback. The token then says who the caller is, whatever the connection proves:
"oidc:https://issuer.example.org#ann".

When it is ready it prints one line on standard output:
  accountantd ready listen=… http=… socket=… data=… store=… version=…
SIGTERM and SIGINT stop it in order, within --grace-period; a second one at once.
grpc.health.v1.Health says SERVING until then, of "" and of each
service, such as accountant.v1.Charges; so does /healthz.

"accountantd restore FILE --data DIR" makes a data directory of a backup,
"accountantd move FROM TO" moves all ledgers to another directory or database,
"accountantd rotate-key" replaces the key that signs heads. "accountantd local
--data DIR" is what programs start that share ledgers without a standing daemon.

Each flag can be given as an environment variable: ACCOUNTANT_LISTEN for
--listen, ACCOUNTANT_TLS_CERT for --tls-cert and so on. Flags win.

Exit status: 0 stopped when asked to; 2 wrong flags; 1 anything else.`

// newCommand parses flags and environment and calls serve.
func newCommand(env []string, serve func(context.Context, settings) error) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use:   "accountantd [flags]",
		Short: "The privacy accountant's daemon",
		Long:  long,
		Example: `  accountantd --data ./data
  accountantd --listen unix:///run/accountant/accountant.sock --socket-mode 0660 \
      --http "" --data /var/lib/accountant
  accountantd --listen 0.0.0.0:7878 --tls-cert tls.crt --tls-key tls.key \
      --tls-client-ca ca.crt --data /var/lib/accountant
  accountantd restore ledgers.backup --data ./restored`,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf(
					"argument: %q; allowed: flags only, restore, move, local or rotate-key (see --help)", args[0])}
			}
			return nil
		},
		PreRunE: func(c *cobra.Command, _ []string) error { return fromEnvironment(c.Flags(), env) },
		RunE:    func(c *cobra.Command, _ []string) error { return serve(c.Context(), s) },
	}
	c.SetUsageFunc(writeUsage)
	c.SetVersionTemplate("accountantd {{.Version}}\n")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (see --help)", err)}
	})
	c.CompletionOptions.DisableDefaultCmd = true
	f := c.Flags()
	f.SortFlags = false
	f.StringSliceVar(&s.listen, "listen", []string{"127.0.0.1:7878"}, "`addresses` of the gRPC service, HOST:PORT or "+
		"unix:///PATH, separated by commas or given again; port 0 takes any free one, \"\" none")
	f.StringVar(&s.socketMode, "socket-mode", "0600", "octal `permissions` of the sockets in --listen")
	f.StringVar(&s.socketOwner, "socket-owner", "",
		"`owner` of the sockets in --listen: USER, USER:GROUP or :GROUP, names or numbers (default: the daemon's)")
	f.StringVar(&s.http, "http", "127.0.0.1:7879", "TCP `address` of /metrics, /healthz and the dashboard; \"\" turns it off")
	f.IntVar(&s.connections, "http-connections", bounds.DefaultConnections, "how many `connections` the HTTP port takes "+
		"at once; one address, other than this machine's, may have half of them")
	f.BoolVar(&s.dashboard, "dashboard", true, "serve pages and the API as JSON on the HTTP port (docs/http.md); on "+
		"an address that other machines can reach only with TLS and --tls-client-ca or --token-issuer")
	f.StringVar(&s.data, "data", "./data", "`directory` of the ledgers; made if missing")
	s.storage.addFlags(f)
	f.BoolVar(&s.init, "init", false,
		"start anew, with nothing charged, in a directory whose store is gone; refused where there is one")
	f.BoolVar(&s.rules.RequireDataset, "require-dataset", false, "refuse new ledgers that neither a registered "+
		"dataset nor another ledger pays for")
	f.StringVar(&s.tls.Cert, "tls-cert", "", "PEM `file` of the server's certificate, and those that certify it")
	f.StringVar(&s.tls.Key, "tls-key", "", "PEM `file` of its key")
	f.StringVar(&s.tls.ClientCA, "tls-client-ca", "",
		"PEM `file` of the authorities whose client certificates are demanded")
	f.StringVar(&s.accessPolicy, "access-policy", "", "YAML `file` that says who may do what (docs/access.md); "+
		"read again when it changes and at SIGHUP (default: whoever reaches the daemon may do everything "+
		"that does not need its own socket)")
	s.tokens.addFlags(f)
	s.logins.addFlags(f)
	s.webhooks.addFlags(f)
	f.Float64Var(&s.rules.FairCalls, "fair-calls", 0, "how many `calls`, and charges in streams, one principal may make a "+
		"second; 0: no limit")
	f.DurationVar(&s.rules.FairComputing, "fair-computing", 0, "for how `long` the questions of one principal may be "+
		"computed within a minute, over all processors; 0: no limit")
	f.BoolVar(&s.insecure, "insecure", false, "allow addresses that other machines can reach, without TLS")
	f.DurationVar(&s.gracePeriod, "grace-period", 20*time.Second,
		"the longest `time` that stopping takes; keep it below that after which you are killed (Kubernetes: 30 s)")
	f.IntVar(&s.analyses, "analyses", 0, "how many `questions` are computed at once; 0 leaves one processor to charges")
	f.DurationVar(&s.questionTime, "question-time", 30*time.Second,
		"the longest `time` of one question; then the best bound so far is the answer")
	f.IntVar(&s.metricsLedgers, "metrics-ledgers", 1000,
		"the most open `ledgers` with budgets whose shares /metrics shows; 0 turns that off")
	f.StringVar(&s.archiving.dir, "archive", "", "`directory`, or s3://BUCKET/PREFIX (docs/durability.md), to which what "+
		"is written is copied, so that a lost machine costs no more than --archive-interval; accountantd restore "+
		"makes the ledgers of it again")
	f.StringVar(&s.archiving.key, "archive-key", "", "`file` of the key, as age-keygen makes it, that encrypts the archive")
	f.DurationVar(&s.archiving.every, "archive-interval", time.Minute, "`time` between two copies to the archive")
	s.cooling.addFlags(f)
	f.DurationVar(&s.scrubInterval, "scrub-interval", time.Hour, "`time` from the end of one check of the ledgers' "+
		"file for damage to the next; the first is at the start; 0 turns them off")
	f.IntVar(&s.scrubRate, "scrub-rate", 16, "the most `MiB` a second that such a check reads")
	f.BoolVar(&s.pprof, "pprof", false, "serve profiles of this process at /debug/pprof of the HTTP port")
	f.StringVar(&s.logLevel, "log-level", "info", "least `level` logged on standard error: debug, info, warn or error")
	f.StringVar(&s.logFormat, "log-format", "text", "`format` of the log: text or json")
	return c
}

// fromEnvironment sets the flags that were not given from ACCOUNTANT_….
func fromEnvironment(flags *pflag.FlagSet, env []string) (err error) {
	given := map[string]string{}
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok {
			given[name] = value
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		name := "ACCOUNTANT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := given[name]
		if !ok || f.Changed || f.Name == "help" || f.Name == "version" || err != nil {
			return
		}
		if e := flags.Set(f.Name, value); e != nil {
			err = usageError{fmt.Errorf("%s: %w", name, e)}
		}
	})
	return err
}
