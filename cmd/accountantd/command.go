package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dpaccountant/accountant/internal/version"
)

// settings are the flags' values.
type settings struct {
	listen, http, data  string
	insecure, pprof     bool
	metricsLedgers      int
	logLevel, logFormat string
}

const long = `accountantd keeps ledgers of differentially private releases and answers what
they cost. Everything is kept in the data directory: the ledgers in
accountant.db, the key that signs their heads in signing.key, and accountant.sock,
a Unix socket for its owner only that serves the same as the TCP address, and
refunds, raises, reconciling and backups, which are refused elsewhere.

When it is ready it prints one line on standard output:
  accountantd ready listen=… http=… socket=… data=… store=… version=…
SIGTERM and SIGINT stop it in order; a second one at once.

"accountantd restore FILE --data DIR" makes a data directory of a backup.

Each flag can be given as an environment variable: ACCOUNTANT_LISTEN,
ACCOUNTANT_HTTP, ACCOUNTANT_DATA, ACCOUNTANT_INSECURE, ACCOUNTANT_METRICS_LEDGERS,
ACCOUNTANT_PPROF, ACCOUNTANT_LOG_LEVEL, ACCOUNTANT_LOG_FORMAT. Flags win.

Exit status: 0 stopped when asked to; 2 wrong flags; 1 anything else.`

// newCommand parses flags and environment and calls serve, or restore.
func newCommand(env []string, serve func(context.Context, settings) error, restore func(ctx context.Context, file, data string) error) *cobra.Command {
	var s settings
	c := &cobra.Command{
		Use:           "accountantd [flags]",
		Short:         "The privacy accountant's daemon",
		Long:          long,
		Example:       "  accountantd --data ./data\n  accountantd --listen 127.0.0.1:0 --http \"\" --data /var/lib/accountant\n  accountantd restore ledgers.backup --data ./restored",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("argument: %q; allowed: flags only, or restore (see --help)", args[0])}
			}
			return nil
		},
		PreRunE: func(c *cobra.Command, _ []string) error { return fromEnvironment(c.Flags(), env) },
		RunE:    func(c *cobra.Command, _ []string) error { return serve(c.Context(), s) },
	}
	c.SetVersionTemplate("accountantd {{.Version}}\n")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{fmt.Errorf("%w (see --help)", err)} })
	c.CompletionOptions.DisableDefaultCmd = true
	c.AddCommand(restoreCommand(env, restore))
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&s.listen, "listen", "127.0.0.1:7878", "TCP `address` of the gRPC service; port 0 takes any free one, \"\" none")
	f.StringVar(&s.http, "http", "127.0.0.1:7879", "TCP `address` of /metrics and /healthz; \"\" turns it off")
	f.StringVar(&s.data, "data", "./data", "`directory` of the ledgers; made if missing")
	f.BoolVar(&s.insecure, "insecure", false, "allow addresses that other machines can reach, without TLS")
	f.IntVar(&s.metricsLedgers, "metrics-ledgers", 1000, "the most open `ledgers` with budgets whose shares /metrics shows; 0 turns that off")
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
