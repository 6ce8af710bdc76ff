// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/calls"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/server/gate"
)

func accessGroup(p *cli.Program) *cobra.Command {
	return cli.Group(p, &cobra.Command{
		Use:   "access",
		Short: "Say who may do what, and why",
		Long: `The access policy of the daemon (accountantd --access-policy) says who may do what:
docs/access.md. These commands say who you are to the daemon, and whether somebody may
do something and why.`,
		Example: `  accountctl access whoami
  accountctl access check cn:ann Raise team/mnist`,
	},
		cli.Command{Name: "check", Make: accessCheck},
		cli.Command{Name: "whoami", Make: whoami},
	)
}

func accessCheck(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "check PRINCIPAL METHOD [LEDGER|DATASET] [--policy FILE]",
		Short: "Say whether somebody may do something, and why",
		Long: `Say yes or no, and the line of the access policy that decides. The method is one of the
API, in capital or small letters: Report, Reserve, Raise, CreateLedger and so on;
docs/access.md lists them. Without a ledger the answer is about the whole daemon. The
answer is that of the gate that decides about the call itself.

The daemon's policy decides; about others than yourself it answers only auditors of
everything. With --policy the file decides, without a daemon: so a new policy can be
tried.

The answer is that of the daemon that is asked. The daemons of one database follow the
policy that was recorded last, each as soon as it hears of it. Ten seconds after a
policy was recorded every daemon follows it, or has not been able to read it and lets
nothing pass.

--dataset and --parent say what a ledger would be part of that CreateLedger creates.
With --policy they say it of every ledger, as the file alone does not know ledgers.

Exit status: 0 for yes, 1 for no.`,
		Example: `  accountctl access check cn:ann Raise team/mnist
  accountctl access check uid:1000 report team/mnist --policy policy.yaml
  accountctl access check cn:ben CreateLedger survey/tables --dataset survey`,
		Args: cobra.RangeArgs(2, 3),
	}
	policy := c.Flags().String("policy", "", "the `FILE` that decides, in place of the daemon's policy")
	groups := c.Flags().StringArray("group", nil, "a `group` of the principal, ISSUER#NAME; may be given again")
	dataset := c.Flags().String("dataset", "", "the `ID` of the ledger's dataset")
	parents := c.Flags().StringArray("parent", nil, "the `NAME` of its parent ledger; with --policy again for that one's parent")
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(c *cobra.Command, args []string) error {
		ask := &accountantv1.GetAccessRequest{Principal: args[0], Method: args[1], Groups: *groups, Dataset: *dataset}
		if len(args) > 2 {
			ask.Ledger = args[2]
		}
		var answer *accountantv1.GetAccessResponse
		var err error
		if *policy != "" {
			answer, err = checkFile(c, *policy, ask, *parents)
		} else if len(*parents) > 1 {
			err = cli.Usage(c, "--parent: %d; allowed: one, as the daemon knows that one's parents", len(*parents))
		} else {
			ask.Parent = strings.Join(*parents, "")
			err = p.With(c, func(daemon *client.Client) (err error) {
				answer, err = daemon.GetAccess(c.Context(), ask)
				return err
			})
		}
		if err != nil {
			return err
		}
		if output.Value == cli.FormatJSON {
			err = p.WriteJSON(answer)
		} else if answer.GetAllowed() {
			_, err = fmt.Fprintf(p.Out, "yes: %s\n", cli.Clean(answer.GetReason()))
		} else {
			_, err = fmt.Fprintf(p.Out, "no: %s\n", cli.Clean(answer.GetReason()))
		}
		if err == nil && !answer.GetAllowed() {
			err = errNotAllowed
		}
		return err
	}
	return c
}

var errNotAllowed = fmt.Errorf("it is not allowed: see above")

// checkFile decides by the policy in a file.
func checkFile(c *cobra.Command, file string, ask *accountantv1.GetAccessRequest,
	parents []string) (*accountantv1.GetAccessResponse, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	policy, err := access.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	method, ok := gate.Method(ask.GetMethod())
	if !ok {
		return nil, cli.Usage(c, "METHOD: %q; allowed: %s", ask.GetMethod(), strings.Join(gate.Methods(), ", "))
	}
	answer := &accountantv1.GetAccessResponse{Principal: ask.GetPrincipal(), Groups: ask.GetGroups(),
		PolicyInForce: true, PolicySha256: policy.Digest[:], TwoPeople: policy.ApproveWithin > 0}
	answer.Allowed, answer.Reason = gate.Explain(policy,
		access.Caller{Principal: ask.GetPrincipal(), Groups: ask.GetGroups()},
		gate.Question{Method: method, Ledger: ask.GetLedger(), Dataset: ask.GetDataset()}, parents)
	return answer, nil
}

func whoami(p *cli.Program) *cobra.Command {
	call := calls.Call[*accountantv1.GetAccessResponse]{
		Request: &accountantv1.GetAccessRequest{},
		Show: func(p *cli.Program, _ string, a *accountantv1.GetAccessResponse) error {
			t := p.Table()
			t.Row("principal", a.GetPrincipal())
			for _, group := range a.GetGroups() {
				t.Row("group", group)
			}
			if !a.GetPolicyInForce() {
				t.Row("policy", "none: everybody may do what does not need the daemon's own socket")
			}
			for _, grant := range a.GetGrants() {
				t.Row("grant", grant)
			}
			return t.Flush()
		},
	}
	return call.Command(p, &cobra.Command{
		Use:     "whoami",
		Short:   "Say who you are to the daemon, and what its policy grants you",
		Long:    `Say as which principal the daemon knows you, and which grants of its policy are yours.`,
		Example: `  accountctl access whoami`,
	})
}

// accessFinding says whether an access policy is in force.
func accessFinding(answer *accountantv1.GetAccessResponse) finding {
	switch {
	case answer.GetProblem() != "":
		return finding{"access policy", foundWarn, answer.GetProblem(),
			"put it right; until then the policy that is in force decides"}
	case !answer.GetPolicyInForce():
		return finding{"access policy", foundWarn, "none: whoever reaches the daemon may read and charge every ledger",
			"start it with --access-policy FILE; see docs/access.md"}
	}
	people := "one person may raise, refund, free and reconcile"
	if answer.GetTwoPeople() {
		people = "two people are needed to raise, refund, free and reconcile"
	}
	return finding{"access policy", foundOK, fmt.Sprintf("in force, SHA-256 %x; %s; you are %s",
		answer.GetPolicySha256(), people, answer.GetPrincipal()), ""}
}
