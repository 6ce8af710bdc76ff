// SPDX-License-Identifier: Apache-2.0

// Package roots decides whether a store's file has every commit that was acknowledged. A file beside
// the store says which commit that was last; the two root pages say which ones the store has.
// docs/decisions/roots.md gives the reasons.
package roots
