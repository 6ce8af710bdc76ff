// SPDX-License-Identifier: Apache-2.0

package values

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/spelling"
)

// LabelsFlag adds --label.
func LabelsFlag(c *cobra.Command) *LabelsValue {
	l := &LabelsValue{}
	c.Flags().Var(l, "label", "KEY=VALUE; may be repeated")
	return l
}

// LabelsValue is the value of --label. A key may come once.
type LabelsValue map[string]string

func (l *LabelsValue) String() string { return spelling.Labels(*l) }
func (l *LabelsValue) Type() string   { return "KEY=VALUE" }

// Set implements pflag.Value.
func (l *LabelsValue) Set(s string) error {
	k, v, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("allowed: KEY=VALUE")
	}
	if _, twice := (*l)[k]; twice {
		return fmt.Errorf("key %q is given twice", k)
	}
	if *l == nil {
		*l = LabelsValue{}
	}
	(*l)[k] = v
	return nil
}
