package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/internal/version"
)

func (p *program) version() *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long:  "Print the version of this command and of the Go release that built it.",
		Example: `  accountctl version
  accountctl version --output json`,
		Args: names(),
	}
	output := outputFlag(c, formatJSON)
	c.RunE = func(*cobra.Command, []string) error {
		if output.value == formatJSON {
			e := json.NewEncoder(p.out)
			e.SetIndent("", "  ")
			return e.Encode(struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{version.String(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
		}
		_, err := fmt.Fprintf(p.out, "accountctl %s (%s, %s/%s)\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	}
	return c
}
