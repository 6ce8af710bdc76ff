// SPDX-License-Identifier: Apache-2.0

package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A user's contexts are found, and what is wrong with their file is said.
func TestContexts(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("ACCOUNTANT_CONTEXT", "")
	file := ContextsFile(os.Getenv)
	if file != filepath.Join(home, "privacy-accountant", "contexts.json") {
		t.Skipf("the folder of settings is another one on this system: %s", file)
	}
	if _, err := FromContext(""); err == nil || !strings.Contains(err.Error(), "none is current") {
		t.Errorf("without a file: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	const two = `{"current": "a", "contexts": {"a": {"server": "127.0.0.1:1"}, "b": {"server": "unix:/b"}}}`
	for _, test := range []struct{ text, name, server, wrong string }{
		{two, "", "127.0.0.1:1", ""},
		{two, "b", "unix:/b", ""},
		{`{"contexts": {"a": {"server": "127.0.0.1:1"}}}`, "c", "", `"c" is not known; known: a`},
		{`{"contexts": {"a": {"server": "127.0.0.1"}}}`, "a", "", "HOST:PORT"},
		{`{"contexts": {"a": {"server": "unix:/b", "proxy": "c"}}}`, "a", "", "proxy"},
		{`{"contexts": {"a b": {"server": "unix:/b"}}}`, "", "", `"a b"; allowed`},
		{`{"contexts": {"a": {"server": "far.example.org:1", "tls_ca": "/nowhere"}}}`, "a", "", "/nowhere"},
		{`{`, "", "", file},
		{`{} {}`, "", "", file},
	} {
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := FromContext(test.name)
		switch {
		case test.wrong == "" && (err != nil || config.Server != test.server):
			t.Errorf("%s of %s: %v, %v; want %s", test.name, test.text, config.Server, err, test.server)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%s of %s: %v; want an error with %s", test.name, test.text, err, test.wrong)
		}
	}
}
