// SPDX-License-Identifier: Apache-2.0

package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
)

// TLSFiles names the PEM files of a client's TLS. The zero value trusts the system's
// authorities and has no certificate of its own.
type TLSFiles struct {
	// CA holds the certificate authorities to trust instead of the system's. It is read once.
	CA string
	// Cert and Key hold the client's own certificate, by which a daemon with mutual TLS knows
	// it. They are read at each handshake; if they are broken then, the last good ones stay in
	// use.
	Cert, Key string
	// ServerName is the name expected in the daemon's certificate, instead of the host in
	// Config.Server.
	ServerName string
}

// Config reads the files and returns a value for Config.TLS. Errors name the file.
func (f TLSFiles) Config() (*tls.Config, error) {
	config := &tls.Config{ServerName: f.ServerName, MinVersion: tls.VersionTLS13}
	if f.CA != "" {
		content, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("TLS authorities: %w; allowed: a PEM file of certificates", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("TLS authorities: %s has no certificate; allowed: a PEM file of certificates", f.CA)
		}
	}
	if f.Cert == "" && f.Key == "" {
		return config, nil
	}
	if f.Cert == "" || f.Key == "" {
		return nil, fmt.Errorf("TLS certificate and key: %q and %q; allowed: both or neither", f.Cert, f.Key)
	}
	good, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate and key: %s, %s: %w", f.Cert, f.Key, err)
	}
	var mu sync.Mutex
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if now, err := tls.LoadX509KeyPair(f.Cert, f.Key); err == nil {
			good = now
		}
		pair := good
		return &pair, nil
	}
	return config, nil
}
