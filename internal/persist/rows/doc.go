// SPDX-License-Identifier: Apache-2.0

// Package rows is the layout of a store's file, and reads it: format.go names the buckets and their
// keys, rows.go makes the bytes of the rows and parses them, and View reads rows within one
// transaction. Every row is verified when it is read, and every page on the way to it is checked
// before bbolt relies on it (package pages), so that damage is found and never taken for a row that is
// missing. Nothing here writes.
package rows
