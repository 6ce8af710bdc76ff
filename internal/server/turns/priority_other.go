// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package turns

// yieldProcessor does nothing: threads have no priority of their own here.
func yieldProcessor() {}
