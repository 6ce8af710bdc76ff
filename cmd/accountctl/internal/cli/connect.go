// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
)

// maxAttempts of a call: enough to outlast a lost connection, while a daemon
// that is not there is reported within a second.
const maxAttempts = 4

// connection holds the flags that say how to reach the daemon.
type connection struct {
	client.Context // what the flags, the environment or a context say
	timeout        time.Duration

	token string // from the environment only: other users see a command's flags

	contexts string // the user's file of them; "" where there can be none
	wanted   string // the name of the one that is asked for
	found    string // the variable of the environment that says something of how to reach the daemon
	broken   error  // why the context cannot be used
}

// AddFlags adds the flags that every command has.
func (n *connection) AddFlags(root *cobra.Command, env func(string) string) {
	f := root.PersistentFlags()
	read := func(variable string) string {
		if env(variable) != "" {
			n.found = variable
		}
		return env(variable)
	}
	n.contexts = client.ContextsFile(env)
	f.StringVar(&n.wanted, "context", env("ACCOUNTANT_CONTEXT"), "the daemon that accountctl login gave this `name`; "+
		"also env ACCOUNTANT_CONTEXT")
	f.StringVar(&n.Server, "server", cmp.Or(read("ACCOUNTANT_SERVER"), "127.0.0.1:7878"),
		"the daemon: host:port or unix:PATH; also env ACCOUNTANT_SERVER")
	f.BoolVar(&n.TLS, "tls", false, "use TLS with a host:port, as the flags below imply")
	for _, t := range []struct {
		value       *string
		name, usage string
	}{
		{&n.TLSCA, "ca", "PEM `file` of the authorities to trust instead of the system's"},
		{&n.TLSCert, "cert", "PEM `file` of the certificate that says who you are"},
		{&n.TLSKey, "key", "PEM `file` of its key"},
		{&n.TLSServerName, "server-name", "`name` expected in the daemon's certificate instead of the host"},
	} {
		variable := "ACCOUNTANT_TLS_" + strings.ToUpper(strings.ReplaceAll(t.name, "-", "_"))
		f.StringVar(t.value, "tls-"+t.name, read(variable), t.usage+"; also env "+variable)
	}
	f.StringVar(&n.TokenFile, "token-file", read("ACCOUNTANT_TOKEN_FILE"), "`file` with a token that says who you are"+
		"; also env ACCOUNTANT_TOKEN_FILE, or the token itself in ACCOUNTANT_TOKEN")
	n.token = read("ACCOUNTANT_TOKEN")
	f.BoolVar(&n.Insecure, "insecure", false, "allow a daemon on another machine without encryption")
	f.DurationVar(&n.timeout, "timeout", 10*time.Second, "how long to wait for an answer to one attempt of a call; "+
		"statements are waited for a minute unless it is given")
}

// Given is the flag, otherwise the variable of the environment, that says something of how to reach the daemon; "" if
// nothing does.
func (n *connection) Given(c *cobra.Command) string {
	for _, flag := range []string{"server", "tls", "tls-ca", "tls-cert", "tls-key", "tls-server-name", "token-file",
		"insecure"} {
		if c.Flags().Changed(flag) {
			return "--" + flag
		}
	}
	return n.found
}

// Choose takes the context that is asked for, otherwise the current one if nothing else says how to reach the daemon. A
// context is taken whole or not at all, so that no token goes to a daemon that it is not for. What is wrong with the
// file is said by commands that need a daemon.
func (n *connection) Choose(c *cobra.Command) error {
	given := n.Given(c)
	if n.wanted != "" && given != "" {
		return UsageOf(c, "--context", "--context (or ACCOUNTANT_CONTEXT) %s and %s are both given; allowed: one of "+
			"them, as a context says all of how to reach a daemon", n.wanted, given)
	}
	if given != "" {
		return nil
	}
	all, err := client.ReadContexts(n.contexts)
	var found client.Context
	var called string
	if err == nil {
		found, called, err = all.Find(n.wanted)
	}
	n.broken = err
	if called != "" {
		n.Use(found)
	}
	return nil
}

// Use takes a context.
func (n *connection) Use(x client.Context) { n.Context, n.broken = x, nil }

// TokenAlone reports whether there is a token that is in no file.
func (n *connection) TokenAlone() bool { return n.token != "" && n.TokenFile == "" }

// Contexts is the user's file of contexts.
func (n *connection) Contexts() string { return n.contexts }

// documentTime is how long a document that is to be kept is waited for, unless --timeout says otherwise. Its numbers
// share the time, and a daemon that has just taken charges answers questions more slowly.
const documentTime = time.Minute

// AskDocument is Ask for a document that is to be kept, whose numbers are to be as tight as they get.
func AskDocument[T any](p *Program, c *cobra.Command,
	call func(context.Context, *client.Client) (T, error)) (T, error) {
	if !c.Flags().Changed("timeout") {
		p.timeout = documentTime
	}
	return Ask(p, c, call)
}

// Ask connects, makes one call and disconnects. It shows that it waits.
func Ask[T any](p *Program, c *cobra.Command, call func(context.Context, *client.Client) (T, error)) (T, error) {
	var answer T
	defer p.Progress("waiting for " + p.Server).End()
	err := p.With(c, func(daemon *client.Client) (err error) {
		answer, err = call(c.Context(), daemon)
		return err
	})
	return answer, err
}

// With connects, calls do and disconnects.
func (n *connection) With(c *cobra.Command, do func(*client.Client) error) error {
	if n.broken != nil {
		return Usage(c, "%v", n.broken)
	}
	if n.timeout <= 0 {
		return Usage(c, "--timeout: %v; allowed: a positive duration, such as 10s", n.timeout)
	}
	config, err := n.Config()
	if err != nil {
		return Usage(c, "%v", err)
	}
	config.Timeout, config.MaxAttempts = n.timeout, maxAttempts
	if n.TokenAlone() {
		config.Token = client.StaticToken(n.token)
	}
	if config.Token != nil {
		if _, err := config.Token.Token(); err != nil {
			return Usage(c, "--token-file or ACCOUNTANT_TOKEN: %v", err)
		}
	}
	daemon, err := client.New(config)
	if errors.Is(err, client.ErrTokenNotEncrypted) {
		return Usage(c, "--server: %s is on another machine, and a token in plain text could be read on the way; "+
			"allowed: --tls, a loopback address or unix:PATH; or no token", n.Server)
	}
	if errors.Is(err, client.ErrNotEncrypted) {
		return Usage(c, "--server: %s is on another machine; allowed: a loopback address, unix:PATH, --tls, or "+
			"--insecure to go without encryption", n.Server)
	}
	if err != nil {
		return err
	}
	return errors.Join(explained(c, daemon, do(daemon)), daemon.Close())
}
