package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
)

func (p *program) ledger() *cobra.Command {
	return group(&cobra.Command{
		Use:   "ledger",
		Short: "Create, show, list, reconcile and close ledgers",
		Long: `A ledger keeps what differentially private mechanisms were run on one dataset.
It is never deleted and its name is never used again; closing it is final.`,
		Example: `  accountctl ledger create team/mnist --adjacency add-or-remove-one
  accountctl ledger create shared --adjacency add-or-remove-one --budget epsilon=8,delta=1e-5,guard=rdp --expected-run workload.json
  accountctl ledger list --prefix team/`,
	},
		p.ledgerCreate(), p.ledgerGet(), p.ledgerList(), p.ledgerReconcile(), p.ledgerClose())
}

// writeLedger writes a ledger's state for people.
func (p *program) writeLedger(l *accountantv1.Ledger) error {
	spec := l.GetSpec()
	t := p.table()
	t.row("ledger", l.GetName())
	state := stateOf(l)
	if l.GetNeedsReconciling() {
		state += ": restored from a backup; it takes nothing until ledger reconcile"
	}
	t.row("state", state)
	t.row("policy", policyText(spec))
	t.row("adjacency", adjacencyText(spec.GetAdjacency()))
	for _, f := range []struct{ name, value string }{
		{"privacy unit", spec.GetPrivacyUnit()},
		{"dataset", strings.TrimSpace(spec.GetDatasetId() + " " + spec.GetDatasetVersion())},
		{"owner", spec.GetOwner()},
		{"parent", spec.GetParent()},
		{"labels", labelsText(spec.GetLabels())},
	} {
		if f.value != "" {
			t.row(f.name, f.value)
		}
	}
	t.row("created", timeText(l.GetCreateTime())+" by "+l.GetPrincipal())
	t.row("entries", l.GetPosition())
	t.row("mechanisms", fmt.Sprintf("%d distinct, %d in all", l.GetDistinctMechanisms(), l.GetTotalCount()))
	t.row("head", fmt.Sprintf("%x", l.GetHeadHash()))
	t.row("created in store", l.GetStoreId())
	if err := t.flush(); err != nil {
		return err
	}
	return p.writeBalance(l)
}

func stateOf(l *accountantv1.Ledger) string {
	switch {
	case l.GetClosed():
		return "closed"
	case l.GetNeedsReconciling():
		return "needs reconciling"
	}
	return "open"
}

// writeReceipt writes what became of a write for people.
func (p *program) writeReceipt(what string, r *accountantv1.Receipt, replayed bool) error {
	if replayed {
		what = "already " + what + " (replayed)"
	}
	_, err := fmt.Fprintf(p.out, "%s: ledger %s, position %d, %s, %s\n", what, clean(r.GetLedger()), r.GetPosition(), clean(r.GetWriter()), timeText(r.GetTime()))
	return err
}

func timeText(t *timestamppb.Timestamp) string { return t.AsTime().Format(time.RFC3339) }

// labelsText is "k=v k=v", by key.
func labelsText(labels map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, k+"="+labels[k])
	}
	return strings.Join(parts, " ")
}

// labelsFlag adds --label.
func labelsFlag(c *cobra.Command) *labels {
	l := &labels{}
	c.Flags().Var(l, "label", "KEY=VALUE; may be repeated")
	return l
}

// labels is the value of --label. A key may come once.
type labels map[string]string

func (l *labels) String() string { return labelsText(*l) }
func (l *labels) Type() string   { return "KEY=VALUE" }
func (l *labels) Set(s string) error {
	k, v, ok := strings.Cut(s, "=")
	if !ok {
		return fmt.Errorf("allowed: KEY=VALUE")
	}
	if _, twice := (*l)[k]; twice {
		return fmt.Errorf("key %q is given twice", k)
	}
	if *l == nil {
		*l = labels{}
	}
	(*l)[k] = v
	return nil
}
