// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/dpaccountant/accountant/internal/wire"
)

// ReadFile reads at most one byte more than wire accepts, and so refuses.
func (p *Program) ReadFile(ctx context.Context, file string) ([]byte, error) {
	r := p.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, &UsageError{file + ": " + whyNot(err) + "; allowed: a file that can be read, or - for " +
				"standard input"}
		}
		defer func() { _ = f.Close() }()
		r = f
	}
	data, err := readAll(ctx, io.LimitReader(r, wire.MaxJSONBytes+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, BadFile(FileName(file), errors.New(whyNot(err)+"; allowed: a file that can be read"))
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

// FileName is the file as messages name it.
func FileName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// whyNot is the reason why a file cannot be opened or read, without its name.
func whyNot(err error) string {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "you may not read this file"
	case errors.As(err, &at):
		return at.Err.Error()
	}
	return err.Error()
}
