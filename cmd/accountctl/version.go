// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/internal/version"
)

func versionCommand(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: "Print the version of this command, the commit it was built from with its date, and the Go release " +
			"that built it.",
		Example: `  accountctl version
  accountctl version --output json`,
		Args: cli.Arguments(),
	}
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(*cobra.Command, []string) error {
		commit, date := version.Commit()
		if output.Value == cli.FormatJSON {
			e := json.NewEncoder(p.Out)
			e.SetIndent("", "  ")
			return e.Encode(struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
				Commit   string `json:"commit,omitempty"`
				Date     string `json:"date,omitempty"` // of the commit
			}{version.String(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, commit, date})
		}
		built := ""
		if commit != "" {
			hash, mark, marked := strings.Cut(commit, "-") // a release from files that are not committed
			hash = hash[:min(len(hash), 12)]
			if marked {
				hash += "-" + mark
			}
			built = fmt.Sprintf("commit %s of %s, ", hash, date)
		}
		_, err := fmt.Fprintf(p.Out, "accountctl %s (%s%s, %s/%s)\n", version.String(), built, runtime.Version(),
			runtime.GOOS, runtime.GOARCH)
		return err
	}
	return c
}
