package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/dpaccountant/accountant/client"
)

// maxAttempts of a call: enough to outlast a lost connection, while a daemon
// that is not there is reported within a second.
const maxAttempts = 4

// connection holds the flags that say how to reach the daemon.
type connection struct {
	server   string
	insecure bool
	timeout  time.Duration
}

func (n *connection) flags(root *cobra.Command, server string) {
	if server == "" {
		server = "127.0.0.1:7878"
	}
	f := root.PersistentFlags()
	f.StringVar(&n.server, "server", server, "the daemon: host:port or unix:PATH; also env ACCOUNTANT_SERVER")
	f.BoolVar(&n.insecure, "insecure", false, "allow a daemon on another machine without encryption")
	f.DurationVar(&n.timeout, "timeout", 10*time.Second, "how long to wait for an answer to one attempt of a call")
}

// ask connects, makes one call and disconnects. It shows that it waits.
func ask[T any](p *program, c *cobra.Command, call func(context.Context, *client.Client) (T, error)) (T, error) {
	var answer T
	done := p.progress("waiting for " + p.server)
	defer done()
	err := p.with(c, func(daemon *client.Client) (err error) {
		answer, err = call(c.Context(), daemon)
		return err
	})
	return answer, err
}

// with connects, calls do and disconnects.
func (n *connection) with(c *cobra.Command, do func(*client.Client) error) error {
	if n.timeout <= 0 {
		return usage(c, "--timeout: %v; allowed: a positive duration, such as 10s", n.timeout)
	}
	daemon, err := client.New(client.Config{Server: n.server, Insecure: n.insecure, Timeout: n.timeout, MaxAttempts: maxAttempts})
	if errors.Is(err, client.ErrNotEncrypted) {
		return usage(c, "--server: %s is on another machine; allowed: a loopback address, unix:PATH, or --insecure to go without encryption", n.server)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(daemon), daemon.Close())
}
