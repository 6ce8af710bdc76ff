// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
)

// TestRefusals: a connection that is not made is explained in the words of whoever starts a daemon.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{Password: "right"})
	files := t.TempDir()
	password := func(content string) string {
		file := filepath.Join(files, content)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	url := func(user, host, query string) string {
		return fmt.Sprintf("postgres://%s@%s/%s", user, host, query)
	}
	here := fmt.Sprintf("127.0.0.1:%d", server.Port)
	for _, c := range []struct {
		url, password string
		what, allowed string
	}{
		{url(pgtest.User, here, "postgres"), "", "asks for a password, and none was given", "--store-password-file"},
		{url(pgtest.User, here, "postgres"), "wrong", "does not accept the password of the user accountant",
			"--store-password-file"},
		{url(pgtest.User, here, "missing"), "right", "has no database missing", "CREATE DATABASE"},
		{url(pgtest.User, here, "postgres?sslmode=require"), "right", "does not take connections with TLS", "ssl = on"},
		{url(pgtest.User, "127.0.0.1:1", "postgres"), "right", "nobody answers at this address", "host and port"},
	} {
		config := Config{URL: c.url}
		if c.password != "" {
			config.PasswordFile = password(c.password)
		}
		s, err := Open(config)
		if err == nil {
			mustClose(t, s)
			t.Errorf("%s with password %q was opened", c.url, c.password)
			continue
		}
		what, allowed, _ := strings.Cut(err.Error(), "; allowed: ")
		if !strings.Contains(what, c.what) || !strings.Contains(allowed, c.allowed) {
			t.Errorf("%s with password %q: %v; want %q and %q", c.url, c.password, err, c.what, c.allowed)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("the error is of several lines: %q", err)
		}
	}
}
