// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bounds_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/web/bounds"
)

// A process that may have few files open keeps half of them for everything else than connections to the HTTP port.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	const child = "BOUNDS_TEST_FEW_FILES"
	if os.Getenv(child) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n 256 && exec "$0" -test.run='^TestFewFiles$'`, self)
		c.Env = append(os.Environ(), child+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for asked, want := range map[int]int{0: 96, 1000: 96, 97: 96, 96: 96, 10: 10} {
		var log bytes.Buffer
		l := bounds.Listen(nil, asked, slog.New(slog.NewTextHandler(&log, nil)))
		if l.Most() != want {
			t.Errorf("of %d connections %d are taken; want %d", asked, l.Most(), want)
		}
		if warned := strings.Contains(log.String(), "files=256"); warned != (want != asked) {
			t.Errorf("of %d connections: %s", asked, &log)
		}
	}
}
