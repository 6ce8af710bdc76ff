// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Contexts are the daemons that a user has given names with accountctl login, as they stand in one file of the
// user's, which accountctl, the Python package and [FromContext] read.
type Contexts struct {
	// Current is the name of the one that is used unless another is named; "" if there is none.
	Current string `json:"current,omitempty"`
	// Named are all of them, by their names.
	Named map[string]Context `json:"contexts"`
}

// Context says how to reach one daemon. It holds no secret: keys and tokens stay in files of their own.
type Context struct {
	// Server is HOST:PORT or unix:PATH.
	Server string `json:"server"`
	// TLS has HOST:PORT be asked over TLS, as each field with TLS in its name does, too.
	TLS           bool   `json:"tls,omitempty"`
	TLSCA         string `json:"tls_ca,omitempty"`
	TLSCert       string `json:"tls_cert,omitempty"`
	TLSKey        string `json:"tls_key,omitempty"`
	TLSServerName string `json:"tls_server_name,omitempty"`
	// TokenFile has a token that proves who calls.
	TokenFile string `json:"token_file,omitempty"`
	// Insecure allows plain text to another machine.
	Insecure bool `json:"insecure,omitempty"`
}

var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckContextName says whether a text may name a context.
func CheckContextName(name string) error {
	if !contextName.MatchString(name) {
		return fmt.Errorf("context: %.100q; allowed: 1 to 64 of [A-Za-z0-9._-] that begin with a letter or a digit",
			name)
	}
	return nil
}

// ContextsFile returns where the contexts are: privacy-accountant/contexts.json in the folder for settings of the user
// ($XDG_CONFIG_HOME or ~/.config; on macOS ~/Library/Application Support, on Windows %AppData%). It is "" where the
// environment, whose variables getenv returns, names no such folder, as in many containers.
func ContextsFile(getenv func(string) string) string {
	under := func(variable string, folders ...string) string {
		if home := getenv(variable); filepath.IsAbs(home) {
			return filepath.Join(append([]string{home}, folders...)...)
		}
		return ""
	}
	var folder string
	switch runtime.GOOS {
	case "windows":
		folder = under("AppData")
	case "darwin":
		folder = under("HOME", "Library", "Application Support")
	default:
		folder = cmp.Or(under("XDG_CONFIG_HOME"), under("HOME", ".config"))
	}
	if folder == "" {
		return ""
	}
	return filepath.Join(folder, "privacy-accountant", "contexts.json")
}

// ReadContexts reads a file of contexts. One that is not there, or "", has none. An error names the file and what is
// wrong in it.
func ReadContexts(path string) (Contexts, error) {
	none := Contexts{Named: map[string]Context{}}
	if path == "" {
		return none, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("the file of contexts: %w", err)
	}
	found := none
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // a newer program's, which might say how to be safe
	if err := d.Decode(&found); err != nil || d.More() {
		return none, fmt.Errorf("the file of contexts %s cannot be read: %w; mend it, or remove it and log in again",
			path, cmp.Or(err, errors.New("something follows its end")))
	}
	for name, c := range found.Named {
		if err := CheckContextName(name); err != nil {
			return none, fmt.Errorf("the file of contexts %s: %w", path, err)
		}
		if _, err := isLocal(c.Server); err != nil {
			return none, fmt.Errorf("the file of contexts %s: %s: %w", path, name, err)
		}
	}
	return found, nil
}

// Find returns the context of a name; with "" the current one, and nothing if there is none.
func (c Contexts) Find(name string) (found Context, called string, err error) {
	called = cmp.Or(name, c.Current)
	if called == "" {
		return Context{}, "", nil
	}
	found, ok := c.Named[called]
	if !ok {
		return Context{}, "", fmt.Errorf("context: %.100q is not known; known: %s; accountctl login makes one", called,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(c.Named)), ", "), "none"))
	}
	return found, called, nil
}

// Config returns the configuration that reaches the context's daemon. It reads the files of the authorities and of the
// certificate, and errors name them.
func (c Context) Config() (Config, error) {
	config := Config{Server: c.Server, Insecure: c.Insecure}
	files := TLSFiles{CA: c.TLSCA, Cert: c.TLSCert, Key: c.TLSKey, ServerName: c.TLSServerName}
	if c.TLS || files != (TLSFiles{}) {
		secure, err := files.Config()
		if err != nil {
			return Config{}, err
		}
		config.TLS = secure
	}
	if c.TokenFile != "" {
		config.Token = TokenFile(c.TokenFile)
	}
	return config, nil
}

// FromContext returns the configuration of a context that was named with accountctl login; with "" of the one that
// ACCOUNTANT_CONTEXT names, otherwise of the current one. It is an error if there is none.
func FromContext(name string) (Config, error) {
	contexts, err := ReadContexts(ContextsFile(os.Getenv))
	if err != nil {
		return Config{}, err
	}
	found, called, err := contexts.Find(cmp.Or(name, os.Getenv("ACCOUNTANT_CONTEXT")))
	if err == nil && called == "" {
		err = errors.New("context: none is current; accountctl login makes one")
	}
	if err != nil {
		return Config{}, err
	}
	return found.Config()
}
