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
	Server   string
	TLS      client.TLSFiles
	useTLS   bool
	Insecure bool
	timeout  time.Duration

	tokenFile string
	token     string // from the environment only: other users see a command's flags
}

// AddFlags adds the flags that every command has.
func (n *connection) AddFlags(root *cobra.Command, env func(string) string) {
	f := root.PersistentFlags()
	f.StringVar(&n.Server, "server", cmp.Or(env("ACCOUNTANT_SERVER"), "127.0.0.1:7878"),
		"the daemon: host:port or unix:PATH; also env ACCOUNTANT_SERVER")
	f.BoolVar(&n.useTLS, "tls", false, "use TLS with a host:port, as the flags below imply")
	for _, t := range []struct {
		value       *string
		name, usage string
	}{
		{&n.TLS.CA, "ca", "PEM `file` of the authorities to trust instead of the system's"},
		{&n.TLS.Cert, "cert", "PEM `file` of the certificate that says who you are"},
		{&n.TLS.Key, "key", "PEM `file` of its key"},
		{&n.TLS.ServerName, "server-name", "`name` expected in the daemon's certificate instead of the host"},
	} {
		variable := "ACCOUNTANT_TLS_" + strings.ToUpper(strings.ReplaceAll(t.name, "-", "_"))
		f.StringVar(t.value, "tls-"+t.name, env(variable), t.usage+"; also env "+variable)
	}
	f.StringVar(&n.tokenFile, "token-file", env("ACCOUNTANT_TOKEN_FILE"), "`file` with a token that says who you are; "+
		"also env ACCOUNTANT_TOKEN_FILE, or the token itself in ACCOUNTANT_TOKEN")
	n.token = env("ACCOUNTANT_TOKEN")
	f.BoolVar(&n.Insecure, "insecure", false, "allow a daemon on another machine without encryption")
	f.DurationVar(&n.timeout, "timeout", 10*time.Second, "how long to wait for an answer to one attempt of a call; "+
		"statements are waited for a minute unless it is given")
}

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
	if n.timeout <= 0 {
		return Usage(c, "--timeout: %v; allowed: a positive duration, such as 10s", n.timeout)
	}
	config := client.Config{Server: n.Server, Insecure: n.Insecure, Timeout: n.timeout, MaxAttempts: maxAttempts}
	if n.useTLS || n.TLS != (client.TLSFiles{}) {
		secure, err := n.TLS.Config()
		if err != nil {
			return Usage(c, "%v", err)
		}
		config.TLS = secure
	}
	switch {
	case n.tokenFile != "":
		config.Token = client.TokenFile(n.tokenFile)
	case n.token != "":
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
