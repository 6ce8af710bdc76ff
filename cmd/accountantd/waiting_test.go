// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/internal/persist/postgres/pgtest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// healthy asks a daemon's HTTP port how it is.
func healthy(address string) (status int, says string) {
	answer, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	b, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(b)
}

// A daemon that starts while its database cannot be reached waits for it, says so in the log and at /healthz, and then
// serves. Asked to stop while it waits, it ends in order.
func TestWaitsForItsDatabase(t *testing.T) {
	proxy, url := pgtest.NewProxy(t, pgtest.Database(t))
	proxy.CutOff()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().String() // somebody else could take it now; nobody does
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	waits := func() *daemon {
		d := &daemon{t: t, stderr: &testaid.Log{}, done: make(chan error, 1)}
		d.command = exec.Command(binary, "--listen", "127.0.0.1:0", "--http", port, "--data", dataDir(t),
			"--store", url)
		d.command.Stderr = d.stderr
		if err := d.command.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { d.done <- d.command.Wait(); close(d.done) }()
		t.Cleanup(func() { _ = d.command.Process.Kill(); <-d.done })
		return d
	}
	until := func(d *daemon, want int, text string) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			status, says := healthy(port)
			if status == want && strings.Contains(says, text) {
				return
			}
			select {
			case err := <-d.done:
				t.Fatalf("it has ended: %v\n%s", err, d.stderr)
			default:
			}
			if time.Since(began) > 2*time.Minute {
				t.Fatalf("/healthz answers %d %q; want %d %q\n%s", status, says, want, text, d.stderr)
			}
		}
	}
	first := waits()
	until(first, http.StatusServiceUnavailable, "not serving: store postgres://")
	if log := first.stderr.String(); !strings.Contains(log, "this daemon waits for it") {
		t.Errorf("the log does not say that it waits:\n%s", log)
	}
	first.stop(syscall.SIGTERM)
	second := waits()
	until(second, http.StatusServiceUnavailable, "not serving: store postgres://")
	proxy.Mend()
	until(second, http.StatusOK, "serving")
	second.stop(syscall.SIGTERM)
}

// What waiting does not heal ends the daemon at once, with what to do about it.
func TestDoesNotWaitInVain(t *testing.T) {
	url := pgtest.Database(t)
	base, _, _ := strings.Cut(url, "?")
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"no such database", "the server has no database", []string{"--store", strings.Replace(url,
			base[strings.LastIndex(base, "/"):], "/no_such_database", 1)}},
		{"no password file", "no such file", []string{"--store", url, "--store-password-file",
			filepath.Join(t.TempDir(), "none")}},
		{"no schema", "names no schema that exists", []string{"--store", withQuery(url, "search_path=no_such_schema")}},
	} {
		code, _, stderr := exitCode(t, append([]string{"--listen", "127.0.0.1:0", "--http", "", "--data", dataDir(t)},
			c.args...)...)
		if code == 0 || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "waits for it") {
			t.Errorf("%s: exit status %d; want one that is not 0 and %q:\n%s", c.name, code, c.want, stderr)
		}
	}
}

// withQuery adds a parameter to an address.
func withQuery(url, parameter string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameter
	}
	return url + "?" + parameter
}
