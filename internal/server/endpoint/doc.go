// SPDX-License-Identifier: Apache-2.0

// Package endpoint opens the addresses on which the daemon is reached: TCP, with TLS if there are
// certificates, and Unix sockets. It finds out what a connection proves about its peer, by a client
// certificate or by the kernel's word, and keeps the raw connections that a stopping server has to
// close itself. What a principal may do is decided above it.
package endpoint
