// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"maps"
	"slices"
	"strings"
)

// Labels is "k=v k=v", by key.
func Labels(labels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, " ")
}
