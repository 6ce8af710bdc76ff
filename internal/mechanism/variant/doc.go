// SPDX-License-Identifier: Apache-2.0

// Package variant asks about descriptors beside the one that was reported: in which parameters two
// mechanisms differ, a mechanism with another amount of noise, and compositions in which groups stand in
// the place of single records, or shuffled passes in the place of samples.
//
// It reads descriptors by the table of their parameters and knows no loss.
package variant
