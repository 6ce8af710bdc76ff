// SPDX-License-Identifier: Apache-2.0

package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Archiving are settings of a server that keeps its log in a directory beside its data, as PostgreSQL's continuous
// archiving does.
func Archiving() map[string]string {
	return map[string]string{"archive_mode": "on",
		"archive_command": "mkdir -p ../archive && test ! -f ../archive/%f && cp %p ../archive/%f"}
}

// BaseBackup makes a copy of a server's data by PostgreSQL's tool. The copy is a server that does not run.
func (s *Server) BaseBackup(t testing.TB) *Server {
	t.Helper()
	c, err := newServer(s.bin, s.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.remove)
	if err := s.run("pg_basebackup", "--pgdata", c.data(), "--host", s.dir, "--port", strconv.Itoa(s.Port),
		"--username", User, "--no-sync", "--checkpoint", "fast", "--wal-method", "none"); err != nil {
		t.Fatal(err)
	}
	return c
}

// Archived returns once all that was written until now is in the archive.
func (s *Server) Archived(t testing.TB) {
	t.Helper()
	var file string
	err := s.query("SELECT pg_walfile_name(pg_switch_wal())", &file)
	if err == nil {
		err = await("the log in the archive", func() error {
			var newest string
			err := s.query("SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver", &newest)
			if err == nil && newest < file {
				err = fmt.Errorf("%q is the newest; want %q", newest, file)
			}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Recover starts a copy as the server that it is of was at a time, by that one's archive.
func (s *Server) Recover(t testing.TB, of *Server, until time.Time) {
	t.Helper()
	auto := filepath.Join(s.data(), "postgresql.auto.conf")
	conf, err := os.ReadFile(auto)
	if err != nil {
		t.Fatal(err)
	}
	conf = fmt.Appendf(conf, "unix_socket_directories = '%s'\narchive_mode = 'off'\n"+
		"restore_command = 'cp %s/archive/%%f %%p'\nrecovery_target_time = '%s'\n"+
		"recovery_target_action = 'promote'\n", s.dir, of.dir, until.UTC().Format("2006-01-02 15:04:05.999999+00"))
	err = errors.Join(own(of.dir), writeOwned(auto, conf), writeOwned(filepath.Join(s.data(), "recovery.signal"), nil))
	if err == nil {
		err = s.Start()
	}
	if err == nil {
		err = await("the end of the recovery", func() error {
			var on bool
			err := s.query("SELECT pg_is_in_recovery()", &on)
			if err == nil && on {
				err = errors.New("it goes on")
			}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}
