// SPDX-License-Identifier: Apache-2.0

package values

import (
	"testing"

	"github.com/spf13/cobra"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// The flag spelling of an adjacency is the API's, and none is missing.
func TestAdjacencies(t *testing.T) {
	for _, s := range spelling.Adjacencies() {
		c := &cobra.Command{}
		a := AdjacencyFlag(c, "")
		err := c.Flags().Set("adjacency", s)
		if err != nil || *a == accountantv1.Workload_ADJACENCY_UNSPECIFIED || spelling.Adjacency(*a) != s {
			t.Errorf("%s: %v, %v", s, *a, err)
		}
	}
	if n := len(accountantv1.Workload_Adjacency_name) - 1; len(spelling.Adjacencies()) != n {
		t.Errorf("%d adjacencies, the API has %d", len(spelling.Adjacencies()), n)
	}
}
