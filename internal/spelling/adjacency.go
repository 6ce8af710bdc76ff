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
