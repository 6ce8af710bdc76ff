// SPDX-License-Identifier: Apache-2.0

package server

// MaxScanned is how many records one ListEntries looks at.
const MaxScanned = maxScanned
