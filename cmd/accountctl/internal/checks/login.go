// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/durable"
)

func login(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:   "login NAME [--server ADDRESS] [--tls-…] [--token-file FILE]",
		Short: "Give the way to a daemon a name, and use it from now on",
		Long: `Ask the daemon who you are to it. If it answers, the address and the names of the files
that the flags give are kept under the name, which is called a context, and every
accountctl command and every Python client uses it from now on, unless it is told
another daemon. With the name alone a context that is kept becomes the current one.

The contexts are one file of yours, privacy-accountant/contexts.json in the folder of
your settings. It has the names of files with keys and tokens, and no secret itself.
A context is taken whole: where a flag or a variable of the environment says how to
reach a daemon, no part of the current context is used.`,
		Example: `  accountctl login prod --server accountant.example.org:7878 --tls-ca ca.crt --token-file token
  accountctl login prod`,
		Args: cli.Arguments("NAME"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		name := args[0]
		if err := client.CheckContextName(name); err != nil {
			return cli.Usage(c, "NAME: %v", err)
		}
		all, err := changeable(p)
		if err != nil {
			return err
		}
		if p.Given(c) == "" {
			kept, ok := all.Named[name]
			if !ok {
				return cli.Usage(c, "context %s is not known; say where its daemon is: accountctl login %s --server "+
					"HOST:PORT", name, name)
			}
			p.Use(kept)
		}
		way := p.Context
		for _, file := range []*string{&way.TLSCA, &way.TLSCert, &way.TLSKey, &way.TokenFile} {
			if *file == "" {
				continue
			}
			if *file, err = filepath.Abs(*file); err != nil {
				return err
			}
		}
		if p.TokenAlone() {
			return cli.Usage(c, "ACCOUNTANT_TOKEN: a context keeps no token; write it into a file that only you can "+
				"read, and give --token-file")
		}
		ask := func(ctx context.Context, daemon *client.Client) (*accountantv1.GetAccessResponse, error) {
			return daemon.GetAccess(ctx, &accountantv1.GetAccessRequest{})
		}
		answer, err := cli.Ask(p, c, ask)
		if err != nil {
			return err
		}
		all.Named[name], all.Current = way, name
		if err := keep(p, all); err != nil {
			return err
		}
		t := p.Table()
		t.Row("context", name+", which is used from now on")
		t.Row("server", way.Server)
		t.Row("you are", answer.GetPrincipal())
		return t.Flush()
	}
	return c
}

func logout(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:     "logout NAME",
		Short:   "Forget the way to a daemon",
		Long:    "Forget a context that login has kept. If it was the current one, none is current then.",
		Example: "  accountctl logout prod",
		Args:    cli.Arguments("NAME"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		all, err := changeable(p)
		if err != nil {
			return err
		}
		if _, _, err := all.Find(args[0]); err != nil || args[0] == "" {
			return cli.Usage(c, "%v", err)
		}
		delete(all.Named, args[0])
		if all.Current == args[0] {
			all.Current = ""
		}
		return keep(p, all)
	}
	return c
}

func contexts(p *cli.Program) *cobra.Command {
	c := &cobra.Command{
		Use:     "contexts",
		Short:   "List the ways to daemons that have names",
		Long:    "List the contexts that login has kept. A star stands before the current one.",
		Example: "  accountctl contexts",
		Args:    cli.Arguments(),
	}
	output := cli.OutputFlag(c, cli.FormatJSON)
	c.RunE = func(*cobra.Command, []string) error {
		all, err := client.ReadContexts(p.Contexts())
		if err != nil {
			return err
		}
		if output.Value == cli.FormatJSON {
			e := json.NewEncoder(p.Out)
			e.SetIndent("", "  ")
			return e.Encode(all)
		}
		if len(all.Named) == 0 {
			_, err := fmt.Fprintln(p.Out, "no context is kept; accountctl login NAME --server HOST:PORT makes one")
			return err
		}
		t := p.Table()
		for _, name := range slices.Sorted(maps.Keys(all.Named)) {
			mark := " "
			if name == all.Current {
				mark = "*"
			}
			t.Row(mark+" "+name, all.Named[name].Server)
		}
		return t.Flush()
	}
	return c
}

// changeable are the contexts, which can be written again.
func changeable(p *cli.Program) (client.Contexts, error) {
	if p.Contexts() == "" {
		return client.Contexts{}, errors.New("the environment names no folder for the settings of a user, which HOME " +
			"or XDG_CONFIG_HOME does; so no context can be kept")
	}
	return client.ReadContexts(p.Contexts())
}

// keep writes the contexts, for the user alone.
func keep(p *cli.Program, all client.Contexts) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.Contexts()), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(p.Contexts(), append(text, '\n'))
}
