// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// With --log-format json every line on standard error is JSON: of wrong flags, of what
// goes wrong later, and of libraries that have a log of their own.
func TestEveryLineIsJSON(t *testing.T) {
	t.Parallel()
	lines := func(stderr string) {
		t.Helper()
		for line := range strings.Lines(stderr) {
			var record struct{ Level, Msg string }
			if err := json.Unmarshal([]byte(line), &record); err != nil || record.Level == "" || record.Msg == "" {
				t.Errorf("%q is no record of a log: %v", line, err)
			}
		}
	}
	for _, args := range [][]string{
		{"--log-format", "json", "--nonsense"}, {"--nonsense", "--log-format=json"}, {"--log-format=json", "argument"},
		{"--log-format", "json", "--listen", "nonsense"}, {"--log-format", "json", "--data", ""},
		{"--log-format", "json", "--listen", "127.0.0.1:0", "--http", "", "--data", os.DevNull},
	} {
		code, stdout, stderr := exitCode(t, args...)
		if code == 0 || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %q, %q", args, code, stdout, stderr)
		}
		lines(stderr)
	}
	a := servertest.NewAuthority(t)
	cert, key := a.Issue("server", nil)
	d := start(t, dataDir(t), "--log-format", "json", "--tls-cert", cert, "--tls-key", key, "--http", "127.0.0.1:0")
	// The HTTP port's own log would say that this is no handshake.
	if answer, err := http.Get("http://" + d.ready["http"]); err == nil {
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	c, err := net.Dial("tcp", d.ready["listen"])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, c)
	_ = c.Close()
	d.stop(syscall.SIGTERM)
	if !strings.Contains(d.stderr.String(), "TLS handshake error") {
		t.Errorf("the HTTP port's log is not there: %s", d.stderr.String())
	}
	lines(d.stderr.String())
}

func TestLogsJSON(t *testing.T) {
	for _, c := range []struct {
		args, env []string
		want      bool
	}{
		{nil, nil, false}, {[]string{"--log-format", "json"}, nil, true}, {[]string{"--log-format=json"}, nil, true},
		{[]string{"--log-format"}, nil, false}, {nil, []string{"ACCOUNTANT_LOG_FORMAT=json"}, true},
		{[]string{"--log-format=text"}, []string{"ACCOUNTANT_LOG_FORMAT=json"}, false},
	} {
		if got := logsJSON(c.args, c.env); got != c.want {
			t.Errorf("logsJSON(%q, %q) = %v", c.args, c.env, got)
		}
	}
}

// The key of a certificate that everybody can read is refused, with what to do; one for
// its group is taken, as Kubernetes mounts secrets.
func TestKeyThatOthersCanRead(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	cert, key := a.Issue("server", nil)
	for mode, wrong := range map[os.FileMode]bool{0o644: true, 0o604: true, 0o660: true, 0o640: false, 0o440: false,
		0o600: false, 0o400: false} {
		own := filepath.Join(t.TempDir(), "tls.key")
		content, err := os.ReadFile(key)
		if err == nil {
			err = os.WriteFile(own, content, 0o600)
		}
		if err == nil {
			err = os.Chmod(own, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
		if wrong {
			code, _, stderr := exitCode(t, "--listen", "127.0.0.1:0", "--http", "", "--data", dataDir(t),
				"--tls-cert", cert, "--tls-key", own)
			if code != 2 || !strings.Contains(stderr, "chmod 0640 "+own) {
				t.Errorf("mode %o: exit %d, %s", mode, code, stderr)
			}
			continue
		}
		start(t, dataDir(t), "--tls-cert", cert, "--tls-key", own).stop(syscall.SIGTERM)
	}
}
