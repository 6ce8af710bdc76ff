// SPDX-License-Identifier: Apache-2.0

package client

import (
	"strings"

	"google.golang.org/grpc/codes"
)

// mistakes are what connections say that were set up wrongly, and what to do. The first one that a message contains
// counts. The texts are those of Go's crypto/tls and of grpc-go; TestConnectionMistakes makes all of them.
var mistakes = []struct{ says, advice string }{
	{"tls: certificate required", "the server asks for a client certificate: give one with its key (--tls-cert and " +
		"--tls-key; TLSFiles.Cert and Key)"},
	{"tls: unknown certificate authority", "the server does not trust the authority of your certificate: have one " +
		"issued by an authority that it was given (accountantd --tls-client-ca)"},
	{"certificate signed by unknown authority", "the server's certificate is of an authority that is not trusted " +
		"here: give the authority's file (--tls-ca; TLSFiles.CA)"},
	{"certificate is valid for", otherName},
	{"certificate is not valid for any names", otherName},
	{"certificate has expired", "somebody has to renew the server's certificate, or to set this machine's clock"},
	{"first record does not look like a TLS handshake", "the server speaks no TLS on this port: leave TLS out (the " +
		"--tls flags; Config.TLS), or use the port that has it"},
	{"HTTP/1.1 header", "this is a port for browsers, such as the daemon's pages: the API has the port of " +
		"accountantd --listen, 7878 if nothing else was said"},
	{"unexpected HTTP status code", "something else than accountantd answers there, such as a proxy: it must pass " +
		"gRPC, which is HTTP/2, through to the daemon"},
	{"error reading server preface", endedAtOnce},
	{"write: broken pipe", endedAtOnce},
	{"connection reset by peer", endedAtOnce},
}

const (
	otherName = "the server's certificate is for another name: use that name as the address, or say which one is " +
		"expected (--tls-server-name; TLSFiles.ServerName)"
	endedAtOnce = "the server ended the connection: it may speak TLS where this client does not (--tls-ca; " +
		"Config.TLS), ask for a client certificate (--tls-cert; TLSFiles.Cert), or have stopped"
)

// advised adds to the message of a connection that failed what to do about it.
func advised(code codes.Code, message string) string {
	if code != codes.Unavailable && code != codes.Unknown && code != codes.Internal {
		return message
	}
	for _, m := range mistakes {
		if strings.Contains(message, m.says) {
			return message + "; " + m.advice
		}
	}
	return message
}
