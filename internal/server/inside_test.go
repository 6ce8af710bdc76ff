// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"testing"

	"google.golang.org/grpc/metadata"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// What carries a caller from the HTTP port to the service has no meaning on a connection from outside.
func TestTicketsFromOutside(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{HTTP: "127.0.0.1:0", Dashboard: true}})
	for _, ticket := range []string{"", "x", "cn:ann", "AAAAAAAAAAAAAAAAAAAAAAAAAA"} {
		ctx := metadata.AppendToOutgoingContext(servertest.Context(t), "accountant-inside", ticket)
		answer, err := s.Client.GetAccess(ctx, &pb.GetAccessRequest{})
		if err != nil || answer.GetPrincipal() != "unverified:anonymous" {
			t.Errorf("with ticket %q: %v, %v", ticket, answer, err)
		}
	}
}
