// SPDX-License-Identifier: Apache-2.0

package wire

// Given makes a number of the domain an optional field of the API: 0 becomes absent.
func Given[T float64 | uint64](v T) *T {
	if v == 0 {
		return nil
	}
	return &v
}
