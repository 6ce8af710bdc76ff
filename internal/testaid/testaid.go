// SPDX-License-Identifier: Apache-2.0

// Package testaid has what the tests of several rooms need: of files, of logs, and of long loops. Nothing
// else imports it.
package testaid

import (
	"bytes"
	"os"
	"sync"
	"testing"
)

// Log is a text that several goroutines write and read. The zero value is empty.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// ShortDir is a directory whose path leaves room for a socket's name, and which the test removes.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Every is the step of a loop over cases that take long together: 1, so that all of them run, and n with
// go test -short.
func Every(n int) int {
	if testing.Short() {
		return n
	}
	return 1
}

// Long skips a test that takes long by its nature with go test -short, and says why: make test-all runs it.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why + "; make test-all runs it")
	}
}
