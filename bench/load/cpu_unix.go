// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"syscall"
	"time"
)

// ownCPU is this process's CPU so far, in seconds.
func ownCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only of arguments that are wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
