// SPDX-License-Identifier: Apache-2.0

//go:build !race

package testaid

// Raced reports whether the race detector watches: everything is slower then, and takes several times the memory.
const Raced = false
