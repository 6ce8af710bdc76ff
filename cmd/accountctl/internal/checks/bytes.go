// SPDX-License-Identifier: Apache-2.0

package checks

import "fmt"

// byteText is a size in bytes for people: "12.3 MiB".
func byteText(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"} {
		if value /= 1 << 10; value < 1<<10 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}
