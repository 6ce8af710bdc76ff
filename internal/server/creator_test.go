// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
)

// Until there are roles, only a ledger's creator ends it or takes most of it at once,
// or who has the daemon's own socket, where identities are proven.
func TestCreator(t *testing.T) {
	t.Parallel()
	a := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = a.Issue("server", nil)
	files.ClientCA = a.File
	socket := filepath.Join(t.TempDir(), "s")
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{TLS: files, Socket: socket}})
	by := func(name string) api.Client {
		a.Issue(name, func(c *x509.Certificate) { c.Subject.CommonName = name })
		conn, err := grpc.NewClient(s.Addr, grpc.WithTransportCredentials(credentials.NewTLS(a.Client(name))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return api.NewClient(conn)
	}
	ann, bob, own := by("ann"), by("bob"), s.Owner(t)
	create := func(c api.Client, spec *pb.LedgerSpec) error {
		_, err := c.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: spec})
		return err
	}
	reserve := func(c api.Client, ledger string, e *pb.Event) error {
		_, err := c.Reserve(servertest.Context(t),
			&pb.ReserveRequest{
				Lane:    &pb.Lane{Ledger: ledger, Writer: servertest.Writer(), Sequence: 1},
				Reserve: &pb.Reserve{Events: []*pb.Event{e}, LifetimeSeconds: 60},
			})
		return err
	}
	shut := func(c api.Client, ledger string) error {
		_, err := c.CloseLedger(servertest.Context(t),
			&pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: ledger, Writer: servertest.Writer(), Sequence: 1},
				Close: &pb.Close{}})
		return err
	}
	denied := func(err error, words ...string) {
		t.Helper()
		wantError(t, err, codes.PermissionDenied, append(words, "created by cn:ann",
			"only cn:ann may, or the daemon's owner with --server unix:"+socket, "you are cn:bob")...)
	}
	done := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, spec := range map[string]*pb.LedgerSpec{
		"plan":   servertest.Plan("plan", servertest.Pure(0.01, 100)),
		"filter": servertest.Filter("filter", servertest.Basic(1)), // ε = 1: as many
	} {
		done(create(ann, spec))
		denied(shut(bob, name), "close it")
		denied(reserve(bob, name, servertest.Pure(0.01, 51)), "more than half")
		child := servertest.Plan(name+"/bobs", servertest.Pure(0.01, 51))
		child.Parent = name
		denied(create(bob, child), "more than half")

		stream := servertest.OpenStream(t, bob, name, servertest.Writer())
		done(stream.Send(
			&pb.ReportStreamRequest{
				Message: &pb.ReportStreamRequest_Reserve{Reserve: &pb.ReportStreamRequest_SequencedReserve{
					Sequence: 1, Reserve: &pb.Reserve{Events: []*pb.Event{servertest.Pure(0.01, 51)},
						LifetimeSeconds: 60}}}}))
		if r := stream.Rejected(); r.GetCode() != int32(codes.PermissionDenied) {
			t.Errorf("%s: rejected with %v", name, r)
		}
		if err := reserve(bob, name, servertest.Pure(0.01, 101)); name == "plan" { // what fits nobody is told so first
			wantError(t, err, codes.ResourceExhausted)
		}
		done(reserve(bob, name, servertest.Pure(0.01, 25)))
		done(reserve(ann, name, servertest.Pure(0.01, 51)))
		answer, err := own.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: name})
		done(err)
		if l := answer.GetLedger(); len(l.GetReservations()) != 2 || l.GetPosition() != 2 {
			t.Errorf("%s: %v; want two reservations and nothing else", name, l)
		}
	}
	done(shut(ann, "plan"))
	done(shut(own, "filter"))

	uid := "uid:" + strconv.Itoa(os.Getuid())
	done(create(own, servertest.Plan("own", servertest.Pure(0.01, 2))))
	wantError(t, shut(ann, "own"), codes.PermissionDenied, "created by "+uid, "you are cn:ann")
	done(shut(own, "own"))
}

// Where nothing proves who calls, nobody can be told from the creator; but a ledger whose
// creator is proven is not ended by somebody who only says a name.
func TestCreatorUnverified(t *testing.T) {
	t.Parallel()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Socket: filepath.Join(t.TempDir(), "s")}})
	own := s.Owner(t)
	shut := func(c api.Client, ledger string) error {
		_, err := c.CloseLedger(servertest.Context(t),
			&pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: ledger, Writer: servertest.Writer(), Sequence: 1},
				Close: &pb.Close{}})
		return err
	}
	for _, c := range []struct {
		name        string
		create, end api.Client
		want        codes.Code
	}{
		{"said", s.Client, s.Client, codes.OK},
		{"said/own", s.Client, own, codes.OK},
		{"proven", own, s.Client, codes.PermissionDenied},
		{"proven/own", own, own, codes.OK},
	} {
		if _, err := c.create.CreateLedger(servertest.Context(t),
			&pb.CreateLedgerRequest{Spec: servertest.Spec(c.name)}); err != nil {
			t.Fatal(err)
		}
		if err := shut(c.end, c.name); status.Code(err) != c.want {
			t.Errorf("%s: %v; want %v", c.name, err, c.want)
		}
	}
}
