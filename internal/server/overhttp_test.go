// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// asJSON is a caller of the API as JSON: with a certificate, or with a header.
func asJSON(s *servertest.Server, authority *servertest.Authority, certificate, key, value string) *servertest.JSON {
	j := &servertest.JSON{URL: "http://" + s.HTTPAddr, Client: &http.Client{}, Header: http.Header{}}
	if key != "" {
		j.Header.Set(key, value)
	}
	if s.TLS() {
		j.URL = "https://" + s.HTTPAddr
		j.Client.Transport = &http.Transport{TLSClientConfig: authority.Client(certificate)}
	}
	return j
}

// changing says which methods change something, by what the documentation of each says; whoever adds one
// has to say so here.
var changing = map[string]bool{"CreateLedger": true, "CloseLedger": true, "Report": true, "ReportStream": true,
	"Reserve": true, "Commit": true, "Release": true, "Expire": true, "Free": true, "Refund": true, "Raise": true,
	"Reconcile": true, "Observe": true,
	"Acknowledge": true, "Propose": true, "Approve": true, "Withdraw": true, "CreateDataset": true,
	"AmendDataset": true, "Backup": true}

// overHTTP makes the same call as JSON, which must end as the call by gRPC did. Only two things differ: who
// does not prove who they are changes nothing, and a stream of requests has no form as JSON.
func (m *matrix) overHTTP(method protoreflect.MethodDescriptor, about string, want error) {
	m.t.Helper()
	if m.web == nil || method.IsStreamingClient() {
		return
	}
	m.cells++
	name := string(method.Name())
	got := call(servertest.Context(m.t), m.web, method, messageAbout(m.t, method.Input(), about))
	if !(access.Caller{Principal: m.door.caller}).Proven() && changing[name] && !denied(want) && !needsTwo(want) {
		if status.Code(got) != codes.PermissionDenied ||
			!strings.HasPrefix(status.Convert(got).Message(), "nothing proves") {
			m.t.Errorf("%s: %s of %q over HTTP, by somebody unproven: %v", m.at(), name, about, got)
		}
		return
	}
	if status.Code(got) != status.Code(want) || status.Convert(got).Message() != status.Convert(want).Message() {
		m.t.Errorf("%s: %s of %q over HTTP: %v; over gRPC: %v", m.at(), name, about, got, want)
	}
}
