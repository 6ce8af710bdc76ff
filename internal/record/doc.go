// SPDX-License-Identifier: Apache-2.0

// Package record makes the bytes on disk and reads them again (accountant.record.v1),
// the digest of what an action asks, and the hashes that chain a ledger's records.
//
// What it writes passes the same checks as what it reads, so that nothing is stored that
// could not be read again. Hashes cover the bytes as stored: reading never encodes anew.
// Stored bytes never change; testdata/records.txt has them, and testdata/decoded.json what the oracle reads in them.
// Digests are stored nowhere.
package record
