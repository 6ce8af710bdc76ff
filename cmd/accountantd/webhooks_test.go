// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever gives an address gives a file with secrets, and the error about either repeats none of them.
func TestWebhookFlags(t *testing.T) {
	t.Parallel()
	good, bad := filepath.Join(t.TempDir(), "good"), filepath.Join(t.TempDir(), "bad")
	for file, text := range map[string]string{good: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", bad: "whsec_hidden\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const to = "https://chat.example/hidden"
	for _, c := range []struct {
		w    webhooks
		says string // empty: it is taken
	}{
		{webhooks{}, ""},
		{webhooks{[]string{to, "http://127.0.0.1:8090"}, good}, ""},
		{webhooks{nil, good}, "webhook: "},
		{webhooks{[]string{to}, ""}, "webhook-secret-file: "},
		{webhooks{[]string{to}, bad}, "webhook-secret-file: "},
		{webhooks{[]string{to}, filepath.Join(t.TempDir(), "none")}, "webhook-secret-file: "},
		{webhooks{[]string{to, "http://chat.example/hidden"}, good}, "webhook: "},
	} {
		got, err := c.w.config()
		switch {
		case c.says == "" && (err != nil || len(got.Addresses) != len(c.w.addresses)):
			t.Errorf("%v: %v, %v", c.w, got, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), "hidden")):
			t.Errorf("%v: %v; want %s", c.w, err, c.says)
		}
	}
}
