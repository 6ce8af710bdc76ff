//go:build !linux

package server

// yieldProcessor does nothing: threads have no priority of their own here.
func yieldProcessor() {}
