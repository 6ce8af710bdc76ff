// SPDX-License-Identifier: Apache-2.0

// Command load reports a fixed workload to a running accountantd and prints one
// JSON object: reports a second, the latency of acknowledgements, and the CPU
// that a report takes on both sides.
//
//	go run ./bench/load --server 127.0.0.1:7878 --http 127.0.0.1:7879 \
//		--streams 64 --window 256 --ledgers 64 --reports 200000
//
// It makes ledgers of its own, load/<run>/<number>, and leaves them there: PLAN
// ledgers whose plan covers the run, and FILTER ledgers with a budget at a fixed
// Rényi order, in turn. With one ledger the whole load is run twice, on one of
// each. docs/benchmarks.md says what is compared with what.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/dpaccountant/accountant/client"
)

// settings are the flags' values.
type settings struct {
	server, http            string
	tls                     client.TLSFiles
	streams, window         int
	ledgers, reports        int
	connections             int
	unary, useTLS, insecure bool
	queries                 time.Duration
	attack                  string
	pause                   time.Duration
	timeout                 time.Duration
	profile                 string
	config                  *tls.Config // nil: plain text
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := parse(os.Args[1:], os.Stderr)
	if err == flag.ErrHelp {
		return
	}
	if err != nil {
		fail(2, err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	result, err := load(ctx, s)
	if err != nil {
		fail(1, err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	if err := out.Encode(result); err != nil {
		fail(1, err)
	}
}

func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "load:", err)
	os.Exit(code)
}

// parse reads the flags and says what is wrong with them.
func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.SetOutput(usage)
	f.StringVar(&s.server, "server", "127.0.0.1:7878", "HOST:PORT or unix:PATH of the daemon")
	f.StringVar(&s.http, "http", "127.0.0.1:7879",
		"HOST:PORT of its /metrics on this machine, for its CPU; \"\" leaves that out")
	f.IntVar(&s.streams, "streams", 1, "writers: streams, or with --unary callers with one call in flight each")
	f.IntVar(&s.window, "window", 2048, "reports without acknowledgement, of each stream")
	f.IntVar(&s.ledgers, "ledgers", 1,
		"ledgers, at most as many as writers; with 1 the load is run on a PLAN and on a FILTER ledger")
	f.IntVar(&s.reports, "reports", 200000, "reports of all writers together, of each run")
	f.IntVar(&s.connections, "connections", 0,
		"connections that the writers share; 0: 1 with --unary, else one each up to 64")
	f.BoolVar(&s.unary, "unary", false, "one call a report instead of streams")
	f.DurationVar(&s.queries, "query-every", 0, "also ask for ε of the first ledger at this interval; 0: not")
	f.StringVar(&s.attack, "attack", "", attackUsage())
	f.DurationVar(&s.pause, "pause", 0, "after each report of a writer; 0: as fast as they are taken")
	f.BoolVar(&s.useTLS, "tls", false, "use TLS")
	f.StringVar(&s.tls.CA, "tls-ca", "", "PEM `file` of the authorities to trust; default: the system's")
	f.StringVar(&s.tls.Cert, "tls-cert", "", "PEM `file` of the client's certificate")
	f.StringVar(&s.tls.Key, "tls-key", "", "PEM `file` of its key")
	f.StringVar(&s.tls.ServerName, "tls-server-name", "",
		"`name` expected in the daemon's certificate; default: the host")
	f.BoolVar(&s.insecure, "insecure", false, "allow plain text to another machine")
	f.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of this side to `file`")
	f.DurationVar(&s.timeout, "timeout", 5*time.Minute, "end with an error after this time")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("argument: %q; allowed: flags only", f.Arg(0))
	}
	for _, n := range []struct {
		name             string
		value, low, high int
	}{
		{"streams", s.streams, 1, 100000}, {"window", s.window, 1, 1 << 20},
		{"ledgers", s.ledgers, 1, s.streams}, {"reports", s.reports, s.streams, 1 << 30},
		{"connections", s.connections, 0, s.streams},
	} {
		if n.value < n.low || n.value > n.high {
			return s, fmt.Errorf("%s: %d; allowed: a whole number from %d to %d", n.name, n.value, n.low, n.high)
		}
	}
	if s.useTLS || s.tls != (client.TLSFiles{}) {
		var err error
		if s.config, err = s.tls.Config(); err != nil {
			return s, err
		}
	}
	if _, ok := attacks[s.attack]; !ok && s.attack != "" {
		return s, fmt.Errorf("attack: %q; allowed: long, abandoned, endless or tables", s.attack)
	}
	if s.connections == 0 {
		s.connections = min(s.streams, 64)
		if s.unary {
			s.connections = 1
		}
	}
	if s.queries < 0 || s.timeout <= 0 {
		return s, fmt.Errorf("query-every, timeout: %v, %v; allowed: a duration ≥ 0 and one > 0", s.queries, s.timeout)
	}
	return s, nil
}
