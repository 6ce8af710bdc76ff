// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"sync"

	"github.com/dpaccountant/accountant/internal/wire"
)

// TLSFiles names PEM files. They are read again at each handshake, so that a renewed
// certificate is used for every connection that opens from then on. If a new file is broken,
// the content read before stays in use, and the log says why.
type TLSFiles struct {
	// Cert and Key are the server's. If they are set, every TCP address speaks TLS 1.3 and
	// nothing else. Empty: no TLS.
	Cert, Key string
	// ClientCA, if set, holds the authorities of client certificates, which are then demanded.
	// The name in the certificate is the principal (see certified).
	ClientCA string
	// OrToken lets clients connect without a certificate also where certificates are demanded;
	// each of their calls must then prove by a token who calls (Proof.Unproven).
	OrToken bool
}

func (f TLSFiles) Check() error {
	switch {
	case f.Cert == "" && f.Key != "":
		return &ConfigError{"tls-cert", "not given, with --tls-key", "a PEM file, with --tls-key"}
	case f.Cert != "" && f.Key == "":
		return &ConfigError{"tls-key", "not given, with --tls-cert", "a PEM file, with --tls-cert"}
	case f.Cert == "" && f.ClientCA != "":
		return &ConfigError{"tls-client-ca", f.ClientCA + " without --tls-cert",
			"a PEM file, with --tls-cert and --tls-key"}
	case f.Cert == "":
		return nil
	}
	_, err := NewCertificates(f, slog.New(slog.DiscardHandler))
	return err
}

// Certificates holds the latest good content of the files.
type Certificates struct {
	files  TLSFiles
	logger *slog.Logger

	mu     sync.Mutex
	seen   [3][]byte   // what was read last, good or not
	config *tls.Config // of the latest good content
	broken string      // what the log was told last
}

// NewCertificates reads the files. The error is a *ConfigError.
func NewCertificates(files TLSFiles, logger *slog.Logger) (*Certificates, error) {
	c := &Certificates{files: files, logger: logger}
	err := c.read()
	return c, err
}

// read reads the files, and makes a new configuration if their content has changed.
func (c *Certificates) read() error {
	var now [3][]byte
	for i, f := range []struct{ field, path string }{
		{"tls-cert", c.files.Cert}, {"tls-key", c.files.Key}, {"tls-client-ca", c.files.ClientCA}} {
		if f.path == "" {
			continue
		}
		var err error
		if now[i], err = os.ReadFile(f.path); err != nil {
			return &ConfigError{f.field, err.Error(), "a PEM file that the daemon may read"}
		}
	}
	if c.config != nil && bytes.Equal(now[0], c.seen[0]) && bytes.Equal(now[1], c.seen[1]) &&
		bytes.Equal(now[2], c.seen[2]) {
		return nil
	}
	if err := CheckKeyMode("tls-key", c.files.Key); err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(now[0], now[1])
	if err != nil {
		return &ConfigError{"tls-cert, tls-key", fmt.Sprintf("%s, %s (%v)", c.files.Cert, c.files.Key, err),
			"PEM files of a certificate and its key"}
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{"h2"},
		// A resumed session would keep a client whose authority is gone.
		SessionTicketsDisabled: true,
	}
	if c.files.ClientCA != "" {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(now[2]) {
			return &ConfigError{"tls-client-ca", c.files.ClientCA + ", without a certificate",
				"a PEM file of certificates"}
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
		if c.files.OrToken {
			config.ClientAuth = tls.VerifyClientCertIfGiven
		}
		config.VerifyConnection = func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 { // of the HTTP port, or a token must do
				return nil
			}
			_, err := certified(s.PeerCertificates[0])
			return err
		}
	}
	if c.config != nil {
		c.logger.Info("TLS files read again", "certificate", pair.Leaf.Subject.String(), "until", pair.Leaf.NotAfter)
	}
	c.seen, c.config, c.broken = now, config, ""
	return nil
}

// CheckKeyMode refuses a private key's file that everybody on the machine can read or change. Its group
// may read it, because Kubernetes mounts secrets in this way for a daemon that is not root, and
// servers share keys by groups. The daemon cannot know who is in the group.
func CheckKeyMode(field, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return &ConfigError{field, err.Error(), "a PEM file that the daemon may read"}
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 && hasModes {
		return &ConfigError{field, fmt.Sprintf("%s has mode %04o: others can read or change it", path, mode),
			fmt.Sprintf("mode 0600, or 0640 for its group: chmod 0640 %s (of a Kubernetes secret: defaultMode: "+
				"0440), and another key if others may have read this one", path)}
	}
	return nil
}

// current returns the configuration for a connection that opens now.
func (c *Certificates) current(*tls.ClientHelloInfo) (*tls.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(); err != nil && err.Error() != c.broken {
		c.broken = err.Error()
		c.logger.Error("TLS files not read again, the ones before stay in use", "error", err)
	}
	return c.config, nil
}

// For reports whether the certificate is for a host.
func (c *Certificates) For(host string) bool {
	config, err := c.current(nil)
	return err == nil && config.Certificates[0].Leaf.VerifyHostname(host) == nil
}

// grpc returns the configuration of the gRPC service.
func (c *Certificates) grpc() *tls.Config { return &tls.Config{GetConfigForClient: c.current} }

// http returns the configuration of the HTTP port. It does not demand a client certificate,
// because health probes have none; newHTTP demands one for the metrics.
func (c *Certificates) http() *tls.Config {
	return &tls.Config{GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		config, err := c.current(hello)
		if err != nil {
			return nil, err
		}
		config = config.Clone()
		config.NextProtos = []string{"h2", "http/1.1"}
		if config.ClientAuth != tls.NoClientCert {
			config.ClientAuth = tls.VerifyClientCertIfGiven
		}
		return config, nil
	}}
}

// certified returns the principal that a verified client certificate names: its only URI (such
// as SPIFFE's), else its common name, else its only email address or DNS name. It has the form
// "uri:…", "cn:…", "email:…" or "dns:…", so that no two can be confused. A certificate that
// names nobody, or several, is refused.
func certified(cert *x509.Certificate) (principal string, err error) {
	switch {
	case len(cert.URIs) == 1:
		principal = "uri:" + (*url.URL).String(cert.URIs[0])
	case len(cert.URIs) > 1:
		return "", errors.New("client certificate: several URIs; allowed: one")
	case cert.Subject.CommonName != "":
		principal = "cn:" + cert.Subject.CommonName
	case len(cert.EmailAddresses) == 1 && len(cert.DNSNames) == 0:
		principal = "email:" + cert.EmailAddresses[0]
	case len(cert.DNSNames) == 1 && len(cert.EmailAddresses) == 0:
		principal = "dns:" + cert.DNSNames[0]
	default:
		return "", errors.New("client certificate: names nobody; allowed: one URI, a common name, or one email " +
			"address or DNS name")
	}
	if !wire.IsPrincipal(principal) {
		return "", fmt.Errorf("client certificate: its name %.80q; allowed: printable text of at most 256 bytes",
			principal)
	}
	return principal, nil
}
