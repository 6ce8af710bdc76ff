// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin && !freebsd

package main

import (
	"errors"
	"time"
)

// whileLocked works only where there is flock(2), which ends with the process that holds it.
func whileLocked(string, string, time.Duration, func()) error {
	return errors.New("private ledgers do not work on this system: start accountantd and give its address to the " +
		"programs")
}

// checkFileSystem allows everything, because whileLocked allows nothing.
func checkFileSystem(string) error { return nil }
