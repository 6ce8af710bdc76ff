// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dpaccountant/accountant/internal/persist"
	"github.com/dpaccountant/accountant/internal/persist/archive"
	"github.com/dpaccountant/accountant/internal/persist/blobs"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
)

// archiving is where the daemon copies what is written, and how often.
type archiving struct {
	dir, key string
	every    time.Duration
}

// open opens the archive, if there is to be one.
func (s archiving) open(database string) (*archive.Archive, error) {
	wrong := func(field, value, allowed string) error {
		return &endpoint.ConfigError{Field: field, Value: value, Allowed: allowed}
	}
	switch {
	case s.dir == "" && s.key != "":
		return nil, wrong("archive-key", s.key, "only with --archive")
	case s.dir == "":
		return nil, nil
	case database != "":
		return nil, wrong("archive", s.dir, "only without --store: a database has tools of its own for that")
	case s.every < time.Second:
		return nil, wrong("archive-interval", s.every.String(), "a duration from 1s on")
	}
	if _, err := blobs.At(s.dir); err != nil {
		return nil, usageError{fmt.Errorf("--archive: %w", err)}
	}
	if err := checkKeyOf("archive-key", s.key); err != nil {
		return nil, err
	}
	return archive.New(archive.Place{Dir: s.dir, Key: blobs.Key(s.key)}), nil
}

// checkKeyOf refuses a key that cannot be read, or that others may have read.
func checkKeyOf(field, path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		if err := endpoint.CheckKeyMode(field, path); err != nil {
			return err
		}
	}
	if err := blobs.Key(path).Check(); err != nil {
		return usageError{fmt.Errorf("--%s: %w", field, err)}
	}
	return nil
}

// late is from when on an archive is said to be behind.
const late = 10 * time.Minute

// keep adds to the archive until stop is called, which returns when it has everything, or its place does not answer.
func (s archiving) keep(a *archive.Archive, from archive.Source, m *server.Metrics, logger *slog.Logger) (
	warnings func() []string, stop func()) {
	newest := prometheus.NewGauge(prometheus.GaugeOpts{Name: "accountant_archived_time_seconds",
		Help: "Up to when the archive has everything that was written, in seconds since 1970."})
	m.Add(newest)
	if s.key == "" {
		logger.Warn("the archive is not encrypted: whoever reads it reads the ledgers", "archive", s.dir, "do",
			"give --archive-key")
	}
	ctx, cancel := context.WithCancel(context.Background())
	done, adding := make(chan struct{}), begun()
	go func() {
		defer close(done)
		a.Run(ctx, from, s.every, func(at time.Time, err error) {
			if err == nil {
				newest.Set(float64(at.UnixNano()) / 1e9)
			} else {
				logger.Error("what is written is not archived", "archive", s.dir, "error", err)
			}
			adding.tried(at, err)
		})
	}()
	warnings = func() []string {
		since, err := adding.failing()
		if e := a.CheckKey(); e != nil {
			err = e // somebody may have exchanged it just now
		}
		if err == nil && time.Since(since) > late+s.every {
			err = errors.New("its place has not answered yet, or there is much to add")
		}
		if err == nil {
			return nil
		}
		return []string{fmt.Sprintf("Nothing was added to the archive %s since %s: %v. What it lacks is lost if this "+
			"machine is. Mend that, and the daemon adds it.", s.dir, since.UTC().Format(time.RFC3339), err)}
	}
	return warnings, func() {
		cancel()
		<-done
	}
}

// fromArchive makes a backup of an archive in a temporary directory, which the caller removes.
func fromArchive(ctx context.Context, from archive.Place, until time.Time,
	progress func(persist.RestoreStep, uint64, uint64)) (backup string, err error) {
	temporary, err := os.MkdirTemp("", "accountant-restore-")
	if err != nil {
		return "", err
	}
	backup = filepath.Join(temporary, persist.FileName)
	_, err = archive.Rebuild(ctx, from, until, backup, func(n, of uint64) { progress(persist.StepRebuild, n, of) })
	if err != nil {
		err = errors.Join(err, os.RemoveAll(temporary))
	}
	return backup, err
}
