// SPDX-License-Identifier: Apache-2.0

// Package workloads reads what to charge or to ask about: a workload file (file.go), or
// one mechanism from flags in its place (charge.go). It answers questions about them without a daemon, with the numbers
// that a daemon answers (offline.go): for the commands, and for programs that ask them (accountctl answer).
package workloads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// Help describes a workload file, for the help of every command that takes one.
const Help = `A workload file is JSON: the adjacency of neighbouring datasets and the events,
each a mechanism with the number of times it is applied. For example

  {"adjacency": "ADD_OR_REMOVE_ONE", "events": [{"count": 1000, "mechanism":
    {"poissonSampled": {"samplingProbability": 0.01,
                        "mechanism": {"gaussian": {"noiseMultiplier": 1.1}}}}}]}

Fields that are not known are errors, so a misspelt one is not left out silently.`

// fileFlag adds --file.
func fileFlag(c *cobra.Command) *string {
	return c.Flags().StringP("file", "f", "", "a workload `FILE`; - is standard input")
}

// Read reads and parses one workload; "-" is standard input. Errors name
// the file.
func Read(ctx context.Context, p *cli.Program, file string) (*accountantv1.Workload, error) {
	name := cli.FileName(file)
	data, err := p.ReadFile(ctx, file)
	if err != nil {
		return nil, err
	}
	switch trimmed := bytes.TrimSpace(data); {
	case len(trimmed) == 0:
		return nil, cli.BadFile(name, errors.New("empty; allowed: one workload, a JSON object"))
	case trimmed[0] == '[':
		return nil, cli.BadFile(name, listError(trimmed))
	case trimmed[0] != '{':
		return nil, cli.BadFile(name, fmt.Errorf("it begins with %q; allowed: one workload, a JSON object such as "+
			`{"adjacency": "ADD_OR_REMOVE_ONE", "events": […]}`, trimmed[:min(len(trimmed), 8)]))
	}
	w := &accountantv1.Workload{}
	if err := wirejson.Unmarshal(data, w); err != nil {
		return nil, cli.BadFile(name, err)
	}
	return w, nil
}

// listError says that a file holds several workloads, where it does.
func listError(data []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		return errors.New("starts with a list; allowed: one workload, a JSON object")
	}
	return fmt.Errorf("a list of %d workloads; allowed: one workload, a JSON object, in each file", len(list))
}

// Check validates a workload as the daemon would. Errors name the file.
func Check(file string, w *accountantv1.Workload) error { return inFile(file, checked(w)) }

// checked validates a workload as the daemon would.
func checked(w *accountantv1.Workload) error {
	_, _, err := wire.ToWorkload(w)
	return err
}

// inFile names the file in what is wrong with its workload.
func inFile(file string, err error) error {
	var invalid *wire.InvalidError
	if errors.As(err, &invalid) {
		return cli.BadFile(cli.FileName(file), err)
	}
	return err
}
