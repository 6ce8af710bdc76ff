// SPDX-License-Identifier: Apache-2.0

//go:build race

package main

// buildFlags: tests under the race detector run a daemon that is, too.
var buildFlags = []string{"-race"}
