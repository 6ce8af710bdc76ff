// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"strings"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// Adjacencies are the API's, as flags spell them.
func Adjacencies() []string {
	var out []string
	for i := 1; i < len(accountantv1.Workload_Adjacency_name); i++ {
		out = append(out, Adjacency(accountantv1.Workload_Adjacency(i)))
	}
	return out
}

// Adjacency is an adjacency as --adjacency takes it.
func Adjacency(a accountantv1.Workload_Adjacency) string {
	return strings.ToLower(Dashed(a.String()))
}

// Neighbours says in words how two neighbouring datasets differ.
func Neighbours(a accountantv1.Workload_Adjacency) string {
	switch a {
	case accountantv1.Workload_ADD_OR_REMOVE_ONE:
		return "One of them has a record more than the other"
	case accountantv1.Workload_REPLACE_ONE:
		return "One of them has another record in the place of one"
	case accountantv1.Workload_ZERO_OUT:
		return "One of them has an empty record in the place of one"
	}
	return "Nobody has said how they differ"
}
