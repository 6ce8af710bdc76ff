// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/dpaccountant/accountant/internal/wire"
)

// Config says where the daemon is and how patient to be. Its zero value talks
// to a daemon on this machine.
type Config struct {
	// Server is HOST:PORT, or unix:PATH for a socket. Default: 127.0.0.1:7878.
	Server string
	// Principal names the caller where the connection does not prove who calls; the daemon then
	// records "unverified:" + Principal. A client certificate or a Unix socket proves the
	// caller ("cn:ann", "uid:1000"), and then this field is ignored. At most 128 bytes of
	// [A-Za-z0-9._@-]. Default: the daemon records "unverified:anonymous".
	Principal string
	// TLS, if set, is used for HOST:PORT ([TLSFiles] makes one); a socket needs
	// none. Default: plain text, which is refused for a server that is neither a
	// socket nor a loopback address.
	TLS *tls.Config
	// Token, if set, proves who calls, whatever the connection proves ([TokenFile],
	// [TokenFromEnvironment]); the daemon then records "oidc:ISSUER#SUBJECT". It is sent only over TLS,
	// a socket or a loopback address. After a new token has come, calls and streams go on with it.
	Token TokenSource
	// Insecure allows plain text to a server on another machine.
	Insecure bool
	// Timeout is how long one attempt of a call may take, and how long a stream
	// waits for an acknowledgement before it connects anew: twice as long each time
	// that this was too short, up to 16 times. Default: 10 s.
	Timeout time.Duration
	// MaxAttempts bounds the attempts of a call, and a stream's attempts in a row
	// without progress. Default 0: only the context bounds them.
	MaxAttempts int
	// BackoffMin is waited before the second attempt; each further wait doubles,
	// up to BackoffMax, and is shortened at random by up to a half. Defaults:
	// 50 ms and 5 s.
	BackoffMin, BackoffMax time.Duration
	// Window is how many charges a stream holds without acknowledgement.
	// Default: 2,048.
	Window int
	// WindowBytes is how many bytes these charges may take; a single charge always fits.
	// Default: 16 MiB.
	WindowBytes int
	// DialOptions are passed to gRPC in addition, for settings that have no field here.
	DialOptions []grpc.DialOption
}

// ErrNotEncrypted means that Config.Server is on another machine, and neither TLS nor Insecure
// is set.
var ErrNotEncrypted = errors.New("without TLS")

const defaultServer = "127.0.0.1:7878"

// keepAlive finds connections that broke without notice.
var keepAlive = keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}

// resolve checks the configuration and fills in the defaults. Connections are counted
// as they are made.
func (cfg Config) resolve(connections *atomic.Uint64) (Config, []grpc.DialOption, error) {
	cfg.Server = cmp.Or(cfg.Server, defaultServer)
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.BackoffMin = cmp.Or(cfg.BackoffMin, 50*time.Millisecond)
	cfg.BackoffMax = cmp.Or(cfg.BackoffMax, max(5*time.Second, cfg.BackoffMin))
	cfg.Window = cmp.Or(cfg.Window, 2048)
	cfg.WindowBytes = cmp.Or(cfg.WindowBytes, 16<<20)
	switch {
	case cfg.Principal != "" && !wire.IsGivenPrincipal(cfg.Principal):
		return cfg, nil, fmt.Errorf("principal: %q; allowed: %s", cfg.Principal, wire.PrincipalAllowed)
	case cfg.Timeout < 0:
		return cfg, nil, fmt.Errorf("timeout: %v; allowed: a positive duration", cfg.Timeout)
	case cfg.MaxAttempts < 0:
		return cfg, nil, fmt.Errorf("max attempts: %d; allowed: a positive number, or 0 for no bound", cfg.MaxAttempts)
	case cfg.BackoffMin < 0 || cfg.BackoffMax < cfg.BackoffMin:
		return cfg, nil, fmt.Errorf("backoff min, max: %v, %v; allowed: positive durations in this order",
			cfg.BackoffMin, cfg.BackoffMax)
	case cfg.Window < 0 || cfg.WindowBytes < 0:
		return cfg, nil, fmt.Errorf("window, window bytes: %d, %d; allowed: positive numbers",
			cfg.Window, cfg.WindowBytes)
	}
	local, err := isLocal(cfg.Server)
	if err != nil {
		return cfg, nil, err
	}
	secure := insecure.NewCredentials()
	switch {
	case cfg.TLS != nil && !strings.HasPrefix(cfg.Server, "unix:"):
		secure = credentials.NewTLS(cfg.TLS)
	case !local && !cfg.Insecure:
		return cfg, nil, fmt.Errorf("server: %s %w; allowed: a loopback address, unix:PATH, TLS, or Insecure",
			cfg.Server, ErrNotEncrypted)
	}
	var withToken []grpc.DialOption
	if cfg.Token != nil {
		if !local && cfg.TLS == nil {
			return cfg, nil, fmt.Errorf("server: %s with %w; allowed: a loopback address, unix:PATH or TLS", cfg.Server,
				ErrTokenNotEncrypted)
		}
		if _, err := cfg.Token.Token(); err != nil {
			return cfg, nil, err
		}
		withToken = append(withToken, grpc.WithPerRPCCredentials(tokenCredentials{cfg.Token, local}))
	}
	return cfg, append(append(withToken,
		grpc.WithTransportCredentials(counted{secure, connections}),
		grpc.WithKeepaliveParams(keepAlive),
		// The same patience below as above: gRPC's own default waits up to 120 s
		// before it looks again for a daemon that was restarted.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: cfg.BackoffMin, Multiplier: 2, Jitter: 0.2,
				MaxDelay: cfg.BackoffMax},
			MinConnectTimeout: cfg.Timeout,
		}),
	), cfg.DialOptions...), nil
}

// counted counts the connections that are made with the credentials inside it.
type counted struct {
	credentials.TransportCredentials
	made *atomic.Uint64
}

// ClientHandshake implements credentials.TransportCredentials.
func (c counted) ClientHandshake(ctx context.Context, authority string,
	conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	c.made.Add(1)
	return c.TransportCredentials.ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (c counted) Clone() credentials.TransportCredentials {
	return counted{c.TransportCredentials.Clone(), c.made}
}

// isLocal reports whether the address server is on this machine, so that messages to it do not
// leave it.
func isLocal(server string) (bool, error) {
	if path, ok := strings.CutPrefix(server, "unix:"); ok {
		if path == "" {
			return false, fmt.Errorf("server: %q; allowed: HOST:PORT or unix:PATH", server)
		}
		return true, nil
	}
	host, port, err := net.SplitHostPort(server)
	if err != nil || port == "" || host == "" {
		return false, fmt.Errorf("server: %q; allowed: HOST:PORT or unix:PATH", server)
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback(), nil
}
