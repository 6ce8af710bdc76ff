// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// guarded is a server with a policy. Its callers say who they are: unverified:NAME.
type guarded struct {
	*servertest.Server
	t      *testing.T
	file   string
	reload chan struct{}
	log    *testaid.Log
	Owner  api.Client
}

func guard(t *testing.T, policy string) *guarded {
	t.Helper()
	dir := t.TempDir()
	g := &guarded{t: t, file: filepath.Join(dir, "policy.yaml"), reload: make(chan struct{}), log: &testaid.Log{}}
	g.write(policy)
	g.Server = servertest.StartWith(t, servertest.Config{Store: memory.New(memory.Config{}), Server: server.Config{
		AccessPolicy: g.file, Reload: g.reload, Socket: filepath.Join(dir, "own"), HTTP: "127.0.0.1:0",
		Logger: slog.New(slog.NewTextHandler(g.log, nil))}})
	g.Owner = g.Server.Owner(t)
	return g
}

func (g *guarded) write(policy string) {
	g.t.Helper()
	if err := os.WriteFile(g.file, []byte("version: 1\n"+policy), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// change writes another policy and waits until the server has read it.
func (g *guarded) change(policy string) {
	g.t.Helper()
	g.write(policy)
	g.reload <- struct{}{}
	g.reload <- struct{}{} // taken once the first is done
}

func (g *guarded) create(specs ...*pb.LedgerSpec) {
	g.t.Helper()
	for _, spec := range specs {
		if _, err := g.Owner.CreateLedger(servertest.Context(g.t), &pb.CreateLedgerRequest{Spec: spec}); err != nil {
			g.t.Fatal(err)
		}
	}
}

// as is a context in which the caller says to be name.
func as(t testing.TB, name string) context.Context {
	return metadata.AppendToOutgoingContext(servertest.Context(t), server.PrincipalKey, name)
}

const reporterOnA = "grants:\n  - {roles: reporter, to: 'unverified:job', on: 'ledger:a'}\n"

func TestRefusalSaysWhoWhatAndWhomToAsk(t *testing.T) {
	t.Parallel()
	g := guard(t, "contact: ada@example.org\n"+reporterOnA)
	g.create(servertest.Spec("a"))
	_, err := g.Client.ListEntries(as(t, "job"), &pb.ListEntriesRequest{Ledger: "a"})
	want := "not allowed by the access policy: you are unverified:job, and ListEntries needs the role auditor on " +
		"ledger a; ask ada@example.org"
	if s := status.Convert(err); s.Code() != codes.PermissionDenied || s.Message() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// Lists show what the caller may see, also the names in page tokens.
func TestListsShowOnlyWhatOneMaySee(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: viewer, to: 'unverified:ann', on: ['prefix:b/', 'dataset:d', 'ledger:root']}\n")
	in := func(name, dataset string) *pb.LedgerSpec {
		spec := servertest.Spec(name)
		spec.DatasetId = dataset
		return spec
	}
	root := servertest.Plan("root", servertest.Pure(1, 4))
	child := servertest.Plan("z/child", servertest.Pure(1, 2))
	child.Parent = "root"
	grandchild := servertest.Plan("z/grandchild", servertest.Pure(1, 1))
	grandchild.Parent = "z/child"
	specs := []*pb.LedgerSpec{in("a/1", ""), in("b/1", ""), in("b/2", "e"), in("c/1", "d"), root, child, grandchild}
	for i := range 100 {
		specs = append(specs, in(fmt.Sprintf("hidden/%d", i), "e"))
	}
	g.create(specs...)
	want := []string{"b/1", "b/2", "c/1", "root", "z/child", "z/grandchild"}
	for _, size := range []uint32{0, 1, 2, 5} {
		var got []string
		request := &pb.ListLedgersRequest{PageSize: size}
		for {
			page, err := g.Client.ListLedgers(as(t, "ann"), request)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range page.GetLedgers() {
				got = append(got, l.GetName())
			}
			if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", size, got, want)
		}
	}
	if _, err := g.Client.GetLedger(as(t, "ann"), &pb.GetLedgerRequest{Name: "z/grandchild"}); err != nil {
		t.Errorf("a child's child of a ledger that is granted: %v", err)
	}
}

// A stream that a new policy does not allow ends after the answers that it is owed, and takes
// nothing more.
func TestStreamLosesItsRight(t *testing.T) {
	t.Parallel()
	g := guard(t, reporterOnA)
	g.create(servertest.Spec("a"))
	stream, err := g.Client.ReportStream(as(t, "job"))
	if err != nil {
		t.Fatal(err)
	}
	send := func(m *pb.ReportStreamRequest) { _ = stream.Send(m) }
	charge := func(n uint64) *pb.ReportStreamRequest {
		return &pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Charge{
			Charge: &pb.ReportStreamRequest_SequencedCharge{Sequence: n, Charge: servertest.Gaussian(1, 1)}}}
	}
	send(&pb.ReportStreamRequest{Message: &pb.ReportStreamRequest_Open_{
		Open: &pb.ReportStreamRequest_Open{Ledger: "a", Writer: servertest.Writer()}}})
	send(charge(1))
	acknowledged := uint64(0)
	for acknowledged == 0 {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		acknowledged = m.GetAcknowledged().GetThrough()
	}
	g.change("grants: []\n")
	send(charge(2))
	for {
		m, err := stream.Recv()
		if err != nil {
			if !denied(err) {
				t.Errorf("the stream ended with %v", err)
			}
			break
		}
		acknowledged = max(acknowledged, m.GetAcknowledged().GetThrough())
	}
	answer, err := g.Owner.GetLedger(servertest.Context(t), &pb.GetLedgerRequest{Name: "a"})
	if err != nil || answer.GetLedger().GetPosition() != acknowledged || acknowledged != 1 {
		t.Errorf("%d entries, %d acknowledged, %v; want the one from before", answer.GetLedger().GetPosition(),
			acknowledged, err)
	}
}

// Who watches a ledger is told nothing more once the policy does not allow it.
func TestWatcherLosesItsRight(t *testing.T) {
	t.Parallel()
	g := guard(t, reporterOnA)
	g.create(servertest.Spec("a"))
	stream, err := g.Client.WatchLedger(as(t, "job"), &pb.WatchLedgerRequest{Name: "a"})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	g.change("grants: []\n")
	if _, err := stream.Recv(); !denied(err) {
		t.Errorf("the watcher got %v", err)
	}
}

// A change is in force for the next call. A file with an error is not, and the log and a metric
// say so; the one before stays.
func TestPolicyChanges(t *testing.T) {
	t.Parallel()
	g := guard(t, reporterOnA)
	g.create(servertest.Spec("a"), servertest.Spec("b"))
	may := func(name string) bool {
		_, err := g.Client.GetLedger(as(t, "job"), &pb.GetLedgerRequest{Name: name})
		return !denied(err)
	}
	stale := func() bool {
		_, metrics := get(t, "http://"+g.HTTPAddr+"/metrics")
		return strings.Contains(metrics, "\naccountant_access_policy_stale 1\n")
	}
	if !may("a") || may("b") || stale() {
		t.Error("before")
	}
	g.change(strings.ReplaceAll(reporterOnA, "ledger:a", "ledger:b"))
	if may("a") || !may("b") {
		t.Error("after a change")
	}
	g.change("grants:\n  - {roles: king, to: 'unverified:job', on: everything}\n")
	if may("a") || !may("b") || !stale() || !strings.Contains(g.log.String(), "line 3: role") {
		t.Errorf("after a broken file: %s", g.log)
	}
	if err := os.Remove(g.file); err != nil {
		t.Fatal(err)
	}
	g.reload <- struct{}{}
	g.reload <- struct{}{}
	if may("a") || !may("b") || !stale() {
		t.Error("without a file")
	}
	g.change(reporterOnA)
	if !may("a") || may("b") || stale() {
		t.Error("after it was put right")
	}
	if err := os.Chmod(g.file, 0o666); err != nil {
		t.Fatal(err)
	}
	g.reload <- struct{}{}
	g.reload <- struct{}{}
	if !stale() || !may("a") {
		t.Error("a file that everybody can write is taken")
	}
}

// A manager may close a ledger that somebody else has created and reserve most of it; a reporter
// may do neither.
func TestManagerDisposes(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: [manager, reporter], to: 'unverified:lead', on: everything}\n"+
		"  - {roles: reporter, to: 'unverified:job', on: everything}\n")
	g.create(servertest.Filter("a", servertest.Basic(10)))
	reserve := func(who string) error {
		_, err := g.Client.Reserve(as(t, who), &pb.ReserveRequest{
			Lane:    &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
			Reserve: &pb.Reserve{LifetimeSeconds: 60, Events: []*pb.Event{servertest.Pure(1, 8)}},
		})
		return err
	}
	if err := reserve("job"); status.Code(err) != codes.PermissionDenied || denied(err) {
		t.Errorf("a reporter reserves most: %v", err)
	}
	if err := reserve("lead"); err != nil {
		t.Errorf("a manager reserves most: %v", err)
	}
	closing := &pb.CloseLedgerRequest{Lane: &pb.Lane{Ledger: "a", Writer: servertest.Writer(), Sequence: 1},
		Close: &pb.Close{}}
	if _, err := g.Client.CloseLedger(as(t, "job"), closing); !denied(err) {
		t.Errorf("a reporter closes: %v", err)
	}
	if _, err := g.Client.CloseLedger(as(t, "lead"), closing); err != nil {
		t.Errorf("a manager closes: %v", err)
	}
}

// A child ledger takes from its parent, so who creates one must be a manager there too.
func TestCreatingAChildNeedsTheParent(t *testing.T) {
	t.Parallel()
	g := guard(t, "grants:\n  - {roles: manager, to: 'unverified:ann', on: 'prefix:mine/'}\n"+
		"  - {roles: manager, to: 'unverified:ben', on: ['prefix:mine/', 'ledger:root']}\n")
	g.create(servertest.Plan("root", servertest.Pure(1, 4)))
	child := servertest.Plan("mine/child", servertest.Pure(1, 2))
	child.Parent = "root"
	if _, err := g.Client.CreateLedger(as(t, "ann"), &pb.CreateLedgerRequest{Spec: child}); !denied(err) {
		t.Errorf("without a right on the parent: %v", err)
	}
	if _, err := g.Client.CreateLedger(as(t, "ben"), &pb.CreateLedgerRequest{Spec: child}); err != nil {
		t.Errorf("with it: %v", err)
	}
}

// A server does not start with a policy that is broken or missing.
func TestNoStartWithABrokenPolicy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	start := func() error {
		_, err := server.Start(server.Config{Store: memory.New(memory.Config{}), AccessPolicy: file})
		return err
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("without a file: %v", err)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("with a broken one: %v", err)
	}
}

// Each policy that comes into force is an entry of a ledger that takes nothing else and that an
// audit reads: once, also after a restart; and so is that there is none any more.
func TestPoliciesAreRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := &guarded{t: t, file: filepath.Join(dir, "policy.yaml"), reload: make(chan struct{})}
	g.write(reporterOnA)
	config := servertest.Config{Server: server.Config{AccessPolicy: g.file, Reload: g.reload,
		Socket: filepath.Join(dir, "own")}}
	g.Server = servertest.StartWith(t, config)
	policies := func() (texts []string) {
		t.Helper()
		page, err := g.Server.Owner(t).ListEntries(servertest.Context(t),
			&pb.ListEntriesRequest{Ledger: "system:access"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.GetEntries() {
			p := e.GetAccessPolicy()
			if sum := sha256.Sum256(p.GetText()); !bytes.Equal(sum[:], p.GetSha256()) {
				t.Errorf("entry %d: another digest", e.GetPosition())
			}
			texts = append(texts, string(p.GetText()))
		}
		return texts
	}
	first, second := "version: 1\n"+reporterOnA, "version: 1\ngrants: []\n"
	if got := policies(); !slices.Equal(got, []string{first}) {
		t.Errorf("at the start: %q", got)
	}
	g.Restart()
	g.change("grants: []\n")
	g.write("grants: 7\n") // broken: not recorded
	g.reload <- struct{}{}
	g.reload <- struct{}{}
	if got := policies(); !slices.Equal(got, []string{first, second}) {
		t.Errorf("after a restart and a change: %q", got)
	}
	owner := g.Server.Owner(t)
	_, err := owner.Report(servertest.Context(t), &pb.ReportRequest{
		Lane:   &pb.Lane{Ledger: "system:access", Writer: servertest.Writer(), Sequence: 1},
		Charge: servertest.Gaussian(1, 1),
	})
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("a charge to it: %v", err)
	}
	_, err = owner.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: servertest.Spec("system:access")})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("creating it: %v", err)
	}
	replayed(t, owner, "system:access")
}

// GetAccess says who one is and why something is allowed; about others only to auditors.
func TestGetAccess(t *testing.T) {
	t.Parallel()
	g := guard(t, "contact: ada\ngrants:\n  - {roles: reporter, to: 'unverified:job', on: 'prefix:a/'}\n"+
		"  - {roles: auditor, to: 'unverified:eva', on: everything}\n")
	g.create(servertest.Spec("a/x"))
	ask := func(who string, req *pb.GetAccessRequest) *pb.GetAccessResponse {
		t.Helper()
		answer, err := g.Client.GetAccess(as(t, who), req)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	a := ask("stranger", &pb.GetAccessRequest{})
	if a.GetPrincipal() != "unverified:stranger" || len(a.GetGrants()) != 0 ||
		!a.GetPolicyInForce() || len(a.GetPolicySha256()) != 32 {
		t.Errorf("a stranger: %v", a)
	}
	a = ask("eva", &pb.GetAccessRequest{Principal: "unverified:job", Method: "report", Ledger: "a/x"})
	if !a.GetAllowed() || !strings.HasPrefix(a.GetReason(), "line 4: roles: [reporter]") {
		t.Errorf("a job reports: %v", a)
	}
	a = ask("eva", &pb.GetAccessRequest{Principal: "unverified:job", Method: "Raise", Ledger: "a/x"})
	if a.GetAllowed() || !strings.Contains(a.GetReason(), "needs the role officer on ledger a/x") {
		t.Errorf("a job raises: %v", a)
	}
	_, err := g.Client.GetAccess(as(t, "job"), &pb.GetAccessRequest{Principal: "unverified:eva"})
	if !denied(err) {
		t.Errorf("a job asks about somebody else: %v", err)
	}
}

// A statement says what the access policy leaves to trust.
func TestStatementsSayWhatThePolicyLeavesToTrust(t *testing.T) {
	t.Parallel()
	g := guard(t, reporterOnA)
	g.create(servertest.Spec("a"))
	const none, alone = "No access policy is in force", "One person alone may raise a budget"
	says := func(client api.Client, want, not string) {
		t.Helper()
		answer, err := client.GetStatement(servertest.Context(t), &pb.GetStatementRequest{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(answer.GetStatement().GetSections())
		if !strings.Contains(text, want) || not != "" && strings.Contains(text, not) {
			t.Errorf("want %q and not %q: %s", want, not, text)
		}
	}
	says(g.Owner, alone, none)
	g.change(reporterOnA + "two_people: {within: 1h}\n")
	says(g.Owner, "Who has to be trusted", alone)
	open := servertest.Start(t)
	_, err := open.Client.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: servertest.Spec("a")})
	if err != nil {
		t.Fatal(err)
	}
	says(open.Client, none, "")
	says(open.Client, alone, "")
}
