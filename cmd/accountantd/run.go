package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/version"
)

const (
	socketFile = "accountant.sock"
	keyFile    = "signing.key"
)

// run is the daemon, or one of its commands: it returns when ctx has ended and everything
// is closed, or when the command is done.
func run(ctx context.Context, args, env []string, stdout, stderr io.Writer) error {
	command := newCommand(env, func(ctx context.Context, s settings) error { return serve(ctx, s, stdout, stderr) })
	command.AddCommand(
		restoreCommand(env, func(ctx context.Context, file, data string) error { return restore(ctx, file, data, stdout, stderr) }),
		rotateKeyCommand(env, func(data string) error { return rotateKey(data, time.Now(), stdout) }),
	)
	command.SetArgs(args)
	command.SetOut(stdout)
	command.SetErr(stderr)
	return command.ExecuteContext(ctx)
}

func serve(ctx context.Context, s settings, stdout, stderr io.Writer) (err error) {
	logger, err := newLogger(stderr, s.logLevel, s.logFormat)
	if err != nil {
		return err
	}
	config := server.Config{
		Listen: s.listen, HTTP: s.http, Socket: filepath.Join(s.data, socketFile), Insecure: s.insecure,
		TLS: s.tls, SocketOwner: s.socketOwner, DrainTimeout: s.gracePeriod,
		Data: s.data, Version: version.String(), Logger: logger, BudgetLedgers: s.metricsLedgers,
		Profile: s.pprof, Analyses: s.analyses, QuestionTime: s.questionTime,
	}
	switch {
	case s.metricsLedgers < 0:
		return &server.ConfigError{Field: "metrics-ledgers", Value: fmt.Sprint(s.metricsLedgers), Allowed: "a whole number ≥ 0"}
	case s.metricsLedgers == 0:
		config.BudgetLedgers = -1 // the server's 0 is its default
	}
	if config.ScrubInterval = s.scrubInterval; s.scrubInterval == 0 {
		config.ScrubInterval = -1 // the server's 0 is its default
	}
	config.ScrubRate = int64(s.scrubRate) << 20
	if s.scrubInterval < 0 {
		return &server.ConfigError{Field: "scrub-interval", Value: s.scrubInterval.String(), Allowed: "a duration ≥ 0, such as 1h"}
	}
	if s.scrubRate < 1 || s.scrubRate > 1<<20 {
		return &server.ConfigError{Field: "scrub-rate", Value: fmt.Sprint(s.scrubRate), Allowed: "a whole number from 1 to 1048576"}
	}
	mode, err := strconv.ParseUint(s.socketMode, 8, 32)
	if err != nil {
		return &server.ConfigError{Field: "socket-mode", Value: fmt.Sprintf("%q", s.socketMode), Allowed: "octal permissions, such as 0660"}
	}
	config.SocketMode = fs.FileMode(mode)
	if s.gracePeriod <= 0 {
		return &server.ConfigError{Field: "grace-period", Value: s.gracePeriod.String(), Allowed: "a duration > 0, such as 20s"}
	}
	if s.questionTime <= 0 {
		return &server.ConfigError{Field: "question-time", Value: s.questionTime.String(), Allowed: "a duration > 0, such as 30s"}
	}
	if s.data == "" {
		return &server.ConfigError{Field: "data", Value: `""`, Allowed: "a directory"}
	}
	if err := config.Check(); err != nil { // before anything is written
		return err
	}
	metrics := server.NewMetrics()
	store, err := persist.Open(persist.Config{
		Path: filepath.Join(s.data, persist.FileName), Traces: []string{keyFile, socketFile}, Init: s.init,
		Observe: func(c persist.Commit) { metrics.Commit(c.Operations, c.Entries, c.Bytes, c.Duration) },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Failure(), store.Close()) }()
	if config.SigningKey, err = boundKey(store, s.data); err != nil {
		return err
	}
	config.Store, config.Failed, config.Metrics = store, store.Failed(), metrics
	return server.Run(ctx, config, stdout)
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
		return nil, &server.ConfigError{Field: "log-level", Value: fmt.Sprintf("%q", level), Allowed: "debug, info, warn or error"}
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &options)), nil
	}
	return nil, &server.ConfigError{Field: "log-format", Value: fmt.Sprintf("%q", format), Allowed: "text or json"}
}

// usageError is a mistake in flags or environment.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitStatus is 0 for nil, 2 for wrong flags or settings, otherwise 1, with one
// line on stderr.
func exitStatus(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "accountantd: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	var usage usageError
	var setting *server.ConfigError
	if errors.As(err, &usage) || errors.As(err, &setting) {
		return 2
	}
	return 1
}
