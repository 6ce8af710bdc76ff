// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/persist/archive"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/signing"
	"github.com/dpaccountant/accountant/internal/version"
)

const (
	socketFile = "accountant.sock"
	keyFile    = "signing.key"
)

// run is the daemon, or one of its commands: it returns when ctx has ended and everything
// is closed, or when the command is done.
func run(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	command := newCommand(env,
		func(ctx context.Context, s settings) error { return serve(ctx, s, env, stdout, stderr) })
	command.AddCommand(
		restoreCommand(env,
			func(ctx context.Context, c restored, to storage) error {
				return restore(ctx, c, to, stdout, stderr)
			}),
		moveCommand(env, func(ctx context.Context, m movers) error { return m.move(ctx, stdout, stderr) }),
		localCommand(env,
			func(ctx context.Context, s settings) error { return serve(ctx, s, env, stdout, stderr) }),
		rotateKeyCommand(env, func(data string) error { return rotateKey(data, time.Now(), onDisk, stdout) },
			func(ctx context.Context, of storage) error {
				return sharedRotation{of: of, now: time.Now(), stdout: stdout}.run(ctx)
			}),
	)
	command.SetArgs(args)
	command.SetOut(stdout)
	command.SetErr(stderr)
	return command.ExecuteContext(ctx)
}

func serve(ctx context.Context, s settings, env []string, stdout, stderr io.Writer) (err error) {
	logger, err := newLogger(stderr, s.logLevel, s.logFormat)
	if err != nil {
		return err
	}
	slog.SetDefault(logger) // also of package log and of gRPC
	for _, w := range version.Misspelt(env) {
		logger.Warn(w)
	}
	config := server.Config{
		Listen: s.listen, HTTP: s.http, HTTPConnections: s.connections, Socket: filepath.Join(s.data, socketFile),
		Insecure: s.insecure, TLS: s.tls, SocketOwner: s.socketOwner, DrainTimeout: s.gracePeriod,
		Data: s.data, Version: version.String(), Logger: logger, BudgetLedgers: s.metricsLedgers,
		Profile: s.pprof, Dashboard: s.dashboard, Analyses: s.analyses, QuestionTime: s.questionTime,
		AccessPolicy: s.accessPolicy,
		TokenGroups:  s.tokens.groups, Rules: s.rules.With(access.Rules{RequireStandby: s.storage.requireStandby}),
	}
	if config.Issuers, err = s.tokens.config(); err != nil {
		return err
	}
	if config.PublicURL, err = s.logins.public(); err != nil {
		return err
	}
	if config.Login, err = s.logins.login(config.Issuers, s.tokens.groups, logger); err != nil {
		return err
	}
	if config.Webhook, err = s.webhooks.config(); err != nil {
		return err
	}
	if s.accessPolicy != "" {
		asked, stop := hangups()
		defer stop()
		config.Reload = asked
	}
	switch {
	case s.connections == 0: // the server's 0 is its default
		return &endpoint.ConfigError{Field: "http-connections", Value: "0",
			Allowed: "a whole number from 10 to 1000000; without the HTTP port: --http \"\""}
	case s.metricsLedgers < 0:
		return &endpoint.ConfigError{Field: "metrics-ledgers", Value: fmt.Sprint(s.metricsLedgers),
			Allowed: "a whole number ≥ 0"}
	case s.metricsLedgers == 0:
		config.BudgetLedgers = -1 // the server's 0 is its default
	}
	if config.ScrubInterval = s.scrubInterval; s.scrubInterval == 0 {
		config.ScrubInterval = -1 // the server's 0 is its default
	}
	config.ScrubRate = int64(s.scrubRate) << 20
	if s.scrubInterval < 0 {
		return &endpoint.ConfigError{Field: "scrub-interval", Value: s.scrubInterval.String(),
			Allowed: "a duration ≥ 0, such as 1h"}
	}
	if s.scrubRate < 1 || s.scrubRate > 1<<20 {
		return &endpoint.ConfigError{Field: "scrub-rate", Value: fmt.Sprint(s.scrubRate),
			Allowed: "a whole number from 1 to 1048576"}
	}
	mode, err := strconv.ParseUint(s.socketMode, 8, 32)
	if err != nil {
		return &endpoint.ConfigError{Field: "socket-mode", Value: fmt.Sprintf("%q", s.socketMode),
			Allowed: "octal permissions, such as 0660"}
	}
	config.SocketMode = fs.FileMode(mode)
	if s.gracePeriod <= 0 {
		return &endpoint.ConfigError{Field: "grace-period", Value: s.gracePeriod.String(),
			Allowed: "a duration > 0, such as 20s"}
	}
	if s.questionTime <= 0 {
		return &endpoint.ConfigError{Field: "question-time", Value: s.questionTime.String(),
			Allowed: "a duration > 0, such as 30s"}
	}
	if s.data == "" {
		return &endpoint.ConfigError{Field: "data", Value: `""`, Allowed: "a directory"}
	}
	if err := s.checkStorage(); err != nil {
		return err
	}
	if s.local {
		config.Socket = filepath.Join(s.data, localSocket)
		if err := checkFileSystem(s.data); err != nil {
			return err
		}
	}
	if err := config.Check(); err != nil { // before anything is written
		return err
	}
	recorder, stop, err := traces(ctx, logger)
	if err != nil {
		return err
	}
	defer stop()
	config.Spans = recorder
	metrics := server.NewMetrics()
	config.Metrics = metrics
	if err := s.cooling.check(s.storage.url); err != nil {
		return err
	}
	copied, err := s.archiving.open(s.storage.url)
	if err != nil {
		return err
	}
	store, place, failed, failure, err := s.openStore(ctx, config, metrics, recorder, copied)
	if errors.Is(err, errStopped) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failure(), store.Close()) }()
	if copied != nil {
		file := store.(archive.Source)
		if err := copied.Check(ctx, file); err != nil {
			return err
		}
		warnings, stop := s.archiving.keep(copied, file, metrics, logger)
		defer stop() // which ends when the server has
		place.Warnings = both(place.Warnings, warnings)
	}
	if file, ok := store.(retires); ok {
		warnings, stop, err := s.cooling.keep(file, metrics, logger)
		if err != nil {
			return err
		}
		defer stop()
		place.Warnings = both(place.Warnings, warnings)
	}
	if config.SigningKey, err = boundKey(store, s.keyPath()); err != nil {
		return err
	}
	config.NewestKey = func() (signing.Fingerprint, error) {
		keys, err := store.Keys()
		return inUse(keys).Fingerprint, err
	}
	if s.local {
		if ctx, err = whileUsed(ctx, s.data); err != nil {
			return err
		}
	}
	config.Analyses = addProcessors(config.Analyses)
	config.Store, config.Place, config.Failed = store, place, failed
	return server.Run(ctx, config, stdout)
}

// hangups returns a channel that says when the process gets a SIGHUP, which otherwise would end it.
func hangups() (asked <-chan struct{}, stop func()) {
	signals, out := make(chan os.Signal, 1), make(chan struct{}, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		for range signals {
			select {
			case out <- struct{}{}:
			default:
			}
		}
	}()
	return out, func() { signal.Stop(signals); close(signals) }
}

func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var options slog.HandlerOptions
	var l slog.Level
	switch level {
	case "debug", "info", "warn", "error":
		if err := l.UnmarshalText([]byte(level)); err != nil {
			return nil, err
		}
		options.Level = l
	default:
		return nil, &endpoint.ConfigError{Field: "log-level", Value: fmt.Sprintf("%q", level),
			Allowed: "debug, info, warn or error"}
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &options)), nil
	}
	return nil, &endpoint.ConfigError{Field: "log-format", Value: fmt.Sprintf("%q", format), Allowed: "text or json"}
}

// usageError is a mistake in flags or environment.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitStatus is 0 for nil, 2 for wrong flags or settings, otherwise 1, with one
// line on stderr: a record of the log where that is JSON.
func exitStatus(err error, asJSON bool, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	if asJSON {
		slog.New(slog.NewJSONHandler(stderr, nil)).Error("accountantd ends", "error", text)
	} else {
		fmt.Fprintf(stderr, "accountantd: %s\n", text)
	}
	var usage usageError
	var setting *endpoint.ConfigError
	if errors.As(err, &usage) || errors.As(err, &setting) {
		return 2
	}
	return 1
}

// logsJSON reports whether --log-format json is given, in flags or environment: also
// where these are wrong, so that the line which says so is JSON too.
func logsJSON(args, env []string) (found bool) {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "ACCOUNTANT_LOG_FORMAT="); ok {
			found = value == "json"
		}
	}
	for i, a := range args {
		value, ok := strings.CutPrefix(a, "--log-format=")
		if a == "--log-format" && i+1 < len(args) {
			value, ok = args[i+1], true
		}
		if ok {
			found = value == "json"
		}
	}
	return found
}

// grpcLog is gRPC's own log: its errors only, as it is without settings, to the default
// logger. What becomes of calls is in ours.
type grpcLog struct{}

func (grpcLog) Info(...any)             {}
func (grpcLog) Infoln(...any)           {}
func (grpcLog) Infof(string, ...any)    {}
func (grpcLog) Warning(...any)          {}
func (grpcLog) Warningln(...any)        {}
func (grpcLog) Warningf(string, ...any) {}
func (grpcLog) V(int) bool              { return false }

func (g grpcLog) Error(args ...any)   { g.Errorf("%s", fmt.Sprint(args...)) }
func (g grpcLog) Errorln(args ...any) { g.Errorf("%s", fmt.Sprintln(args...)) }
func (grpcLog) Errorf(format string, args ...any) {
	slog.Error("grpc", "error", strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// Fatal and its like are expected not to return.
func (g grpcLog) Fatal(args ...any)                 { g.Fatalf("%s", fmt.Sprint(args...)) }
func (g grpcLog) Fatalln(args ...any)               { g.Fatalf("%s", fmt.Sprintln(args...)) }
func (g grpcLog) Fatalf(format string, args ...any) { g.Errorf(format, args...); os.Exit(1) }
