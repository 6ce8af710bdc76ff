// SPDX-License-Identifier: Apache-2.0

// Package values makes flags of the fields of the API's messages (field.go), and of what is no field by itself.
package values

import (
	"strings"

	"github.com/spf13/cobra"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
)

// AdjacencyFlag adds --adjacency, of whatever the help says. Without the flag the value is not specified.
func AdjacencyFlag(c *cobra.Command, whose string) *accountantv1.Workload_Adjacency {
	w := &accountantv1.Workload{}
	AddFlag(c, w.ProtoReflect(), w.ProtoReflect().Descriptor().Fields().ByName("adjacency"), "adjacency", "ADJACENCY")
	c.Flags().Lookup("adjacency").Usage = whose + ": " + strings.Join(spelling.Adjacencies(), ", ")
	return &w.Adjacency
}

// otherAdjacencies are what papers and other libraries call them.
var otherAdjacencies = map[string]accountantv1.Workload_Adjacency{
	"ADD_REMOVE":      accountantv1.Workload_ADD_OR_REMOVE_ONE,
	"ADD_REMOVE_ONE":  accountantv1.Workload_ADD_OR_REMOVE_ONE,
	"ADD_OR_REMOVE":   accountantv1.Workload_ADD_OR_REMOVE_ONE,
	"UNBOUNDED":       accountantv1.Workload_ADD_OR_REMOVE_ONE,
	"BOUNDED":         accountantv1.Workload_REPLACE_ONE,
	"REPLACE":         accountantv1.Workload_REPLACE_ONE,
	"REPLACE_SPECIAL": accountantv1.Workload_ZERO_OUT,
	"SUBSTITUTE":      accountantv1.Workload_REPLACE_ONE,
	"SUBSTITUTION":    accountantv1.Workload_REPLACE_ONE,
}
