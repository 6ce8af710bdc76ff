// SPDX-License-Identifier: Apache-2.0

package main

import (
	"syscall"
	"time"
)

// ownCPU is this process's CPU so far, in seconds.
func ownCPU() float64 {
	own, err := syscall.GetCurrentProcess()
	var created, exited, kernel, user syscall.Filetime
	if err == nil {
		err = syscall.GetProcessTimes(own, &created, &exited, &kernel, &user)
	}
	if err != nil {
		panic(err) // only of arguments that are wrong
	}
	span := func(f syscall.Filetime) time.Duration { // in units of 100 ns
		return time.Duration(uint64(f.HighDateTime)<<32|uint64(f.LowDateTime)) * 100
	}
	return (span(kernel) + span(user)).Seconds()
}
