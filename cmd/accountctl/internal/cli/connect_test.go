// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
)

type asking func(*Program, *cobra.Command,
	func(context.Context, *client.Client) (time.Duration, error)) (time.Duration, error)

// A document is waited for longer than an answer, unless --timeout says how long.
func TestTimeOfDocuments(t *testing.T) {
	for _, test := range []struct {
		ask  asking
		args []string
		want time.Duration
	}{
		{Ask[time.Duration], nil, 10 * time.Second},
		{AskDocument[time.Duration], nil, time.Minute},
		{AskDocument[time.Duration], []string{"--timeout", "3s"}, 3 * time.Second},
	} {
		none := func(string) string { return "" }
		p := NewProgram(none, strings.NewReader(""), io.Discard, io.Discard)
		c := &cobra.Command{Use: "c", RunE: func(c *cobra.Command, _ []string) error {
			got, err := test.ask(p, c, func(context.Context, *client.Client) (time.Duration, error) {
				return p.timeout, nil
			})
			if got != test.want {
				t.Errorf("with %q the time of an attempt is %v; want %v", test.args, got, test.want)
			}
			return err
		}}
		p.AddFlags(c, none)
		c.SetArgs(append([]string{}, test.args...)) // nil would be this process's
		if err := c.Execute(); err != nil {
			t.Error(err)
		}
	}
}
