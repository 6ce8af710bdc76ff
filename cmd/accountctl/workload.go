package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

const workloadHelp = `A workload file is JSON: the adjacency of neighbouring datasets and the events,
each a mechanism with the number of times it is applied. For example

  {"adjacency": "ADD_OR_REMOVE_ONE", "events": [{"count": 1000, "mechanism":
    {"poissonSampled": {"samplingProbability": 0.01,
                        "mechanism": {"gaussian": {"noiseMultiplier": 1.1}}}}}]}

Fields that are not known are errors, so a misspelt one is not left out silently.`

// fileFlag adds --file.
func fileFlag(c *cobra.Command) *string {
	return c.Flags().StringP("file", "f", "", "a workload `FILE`; - is standard input")
}

// readWorkload reads and parses one workload; "-" is standard input. Errors name
// the file.
func (p *program) readWorkload(ctx context.Context, file string) (*accountantv1.Workload, error) {
	name := fileName(file)
	data, err := p.readFile(ctx, file)
	if err != nil {
		return nil, err
	}
	switch trimmed := bytes.TrimSpace(data); {
	case len(trimmed) == 0:
		return nil, badFile(name, errors.New("empty; allowed: one workload, a JSON object"))
	case trimmed[0] == '[':
		return nil, badFile(name, listError(trimmed))
	}
	w := &accountantv1.Workload{}
	if err := wire.UnmarshalJSON(data, w); err != nil {
		return nil, badFile(name, err)
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

// readFile reads at most one byte more than wire accepts, and so refuses.
func (p *program) readFile(ctx context.Context, file string) ([]byte, error) {
	r := p.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, &usageError{err.Error()}
		}
		defer func() { _ = f.Close() }()
		r = f
	}
	data, err := readAll(ctx, io.LimitReader(r, wire.MaxJSONBytes+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, badFile(fileName(file), err)
	}
	return data, nil
}

// readAll reads until the end or until ctx ends: a person may give up on a
// standard input that never comes.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(r)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// fileName is the file as messages name it.
func fileName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// checkWorkload validates a workload as the daemon would.
func checkWorkload(file string, w *accountantv1.Workload) error {
	if _, _, err := wire.ToWorkload(w); err != nil {
		return badFile(fileName(file), err)
	}
	return nil
}
