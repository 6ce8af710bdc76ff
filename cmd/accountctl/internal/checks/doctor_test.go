// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
)

// A certificate is to be renewed in the last two weeks, or the last third of a short
// one.
func TestCertificateFinding(t *testing.T) {
	now := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, c := range []struct {
		age, left time.Duration
		want      string
	}{
		{300 * day, 65 * day, foundOK}, {351 * day, 14 * day, foundOK}, {352 * day, 13 * day, foundWarn},
		{366 * day, -day, foundWarn},
		{12 * time.Hour, 12 * time.Hour, foundOK}, {17 * time.Hour, 7 * time.Hour, foundWarn},
	} {
		f := certificateFinding("it", &x509.Certificate{NotBefore: now.Add(-c.age), NotAfter: now.Add(c.left)}, now)
		if f.Result != c.want || (f.Advice == "") != (c.want == foundOK) {
			t.Errorf("%v old, %v left: %+v; want %s", c.age, c.left, f, c.want)
		}
	}
}

func TestVersionFinding(t *testing.T) {
	for _, c := range []struct{ daemon, want string }{{"v1", foundOK}, {"v2", foundWarn}, {"", foundWarn}} {
		if f := versionFinding(c.daemon, "v1"); f.Result != c.want {
			t.Errorf("%q: %+v; want %s", c.daemon, f, c.want)
		}
	}
}

func TestOwnDirectory(t *testing.T) {
	data, run := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "accountant.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for server, want := range map[string]string{
		"unix:" + data + "/accountant.sock": data, "unix://" + data + "/accountant.sock": data,
		"unix:" + run + "/accountant.sock": "", "unix:" + data + "/shared.sock": "", "127.0.0.1:7878": "",
	} {
		if got := ownDirectory(server); got != want {
			t.Errorf("%s: %q; want %q", server, got, want)
		}
	}
}

func TestPaint(t *testing.T) {
	p := &cli.Program{}
	if got := paint(p, foundOK); got != "ok  " {
		t.Errorf("%q", got)
	}
	p.Colour = true
	if got := paint(p, foundFail); got != "\x1b[31mfail\x1b[0m" {
		t.Errorf("%q", got)
	}
}
