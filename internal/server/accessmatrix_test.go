// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/access"
	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/persist/memory"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/testaid"
)

// documented is the table of docs/access.md: which roles may call a method, and on what.
func documented(t *testing.T) map[string]documentedRule {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "access.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]documentedRule{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 10 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if strings.HasPrefix(cells[1], "-") || cells[1] == "method" {
			continue
		}
		rule := documentedRule{may: map[string]bool{}, on: cells[8],
			held: cells[1] == "Commit" || cells[1] == "Release"}
		for _, role := range access.Roles() {
			rule.may[role.String()] = cells[2+int(role)] == "yes"
		}
		rules[cells[1]] = rule
	}
	return rules
}

type documentedRule struct {
	may  map[string]bool
	on   string
	held bool // the request may be about what was reserved in several ledgers, which only the handler finds
}

// about is what a call of the matrix is about.
type about struct {
	name    string // "" for a workload
	dataset string // that the ledger or the record is of
}

var abouts = []about{{name: "in/there"}, {name: "in/missing"}, {name: "out/there"}, {name: "out/missing"}, {},
	{"of/mine", "mine"}, {"of/other", "other"}, {name: "system:sets/0"},
	{"dataset:mine", "mine"}, {"dataset:other", "other"}, {name: "dataset:missing"}}

// terms are what a policy of the matrix says besides who has which role.
type terms struct {
	over string
	two  bool // two people are needed
}

var allTerms = []terms{{over: "prefix:in/"}, {over: "dataset:mine"}, {over: "everything"}, {"everything", true}}

func (o terms) String() string { return fmt.Sprintf("%s, two people: %v", o.over, o.two) }

// covers says what docs/access.md says of scopes.
func (o terms) covers(a about) bool {
	switch o.over {
	case "everything":
		return true
	case "dataset:mine":
		return a.dataset == "mine"
	}
	return strings.HasPrefix(a.name, "in/")
}

// allows says what the documentation says of a call by somebody with a role, or none.
func (r documentedRule) allows(role string, o terms, a about) bool {
	switch {
	case strings.HasPrefix(r.on, "anybody"):
		return true
	case role == "nothing" || !r.may[role]:
		return false
	case r.held && strings.HasPrefix(a.name, "system:sets/"):
		return true
	case o.over == "everything" || strings.HasPrefix(r.on, "any"):
		return true
	case r.on == "everything",
		strings.HasPrefix(a.name, "dataset:") && strings.Contains(r.on, "everything for a dataset"):
		return false
	case a.name == "":
		return strings.Contains(r.on, "any for a workload")
	case strings.HasPrefix(r.on, "the name"):
		return o.covers(about{name: a.name})
	}
	return o.covers(a)
}

// finds says whether a call about a dataset finds it, where others than those that the caller may
// see are not found.
func (r documentedRule) finds(o terms, a about) bool {
	if !strings.Contains(r.on, "not found") {
		return true
	}
	if !strings.HasPrefix(a.name, "dataset:") { // the call takes it for an identifier
		a = about{name: "dataset:" + a.name}
	}
	return o.covers(a)
}

// together are the methods that end as FAILED_PRECONDITION where two people are needed.
var together = map[string]bool{"Raise": true, "Refund": true, "Free": true, "Reconcile": true}

// door is a kind of listener, and how the matrix's caller comes through it.
type door struct {
	name      string
	principal string   // of the caller, or one of its groups, as the policy has it
	caller    string   // the caller's principal
	groups    []string // the caller's
	server    func(*server.Config)
	dial      func(*servertest.Server) *grpc.ClientConn
	stranger  func(*servertest.Server) *grpc.ClientConn // whom the policy does not name; nil if none can come
	web       func(*servertest.Server) *servertest.JSON // the caller, over HTTP; nil if none can come

	// fleet: the daemon shares its store, and the caller comes through the daemon's own socket. Somebody else,
	// whom the policy grants it, does what the daemon's owner does behind other doors.
	fleet bool
}

// chief holds every role in a fleet.
const chief = "  - {roles: [reporter, manager, officer, administrator], to: 'unverified:chief', on: everything}\n"

func doors(t *testing.T) []door {
	authority := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = authority.Issue("server", nil)
	files.ClientCA = authority.File
	authority.Issue("caller", nil)
	authority.Issue("stranger", nil)
	mutual := func(name string) func(*servertest.Server) *grpc.ClientConn {
		return func(s *servertest.Server) *grpc.ClientConn {
			return s.Dial(grpc.WithTransportCredentials(credentials.NewTLS(authority.Client(name))))
		}
	}
	issuer := bearertest.New(t)
	tokens := func(c *server.Config) {
		c.Issuers = []bearer.Issuer{{URL: issuer.URL, Keys: issuer.Keys, Audiences: []string{bearertest.Audience}}}
		c.TokenGroups = "groups"
	}
	with := func(certificate, key, value string) func(*servertest.Server) *grpc.ClientConn {
		return func(s *servertest.Server) *grpc.ClientConn {
			options := saying(key, value)
			if certificate != "" {
				options = append(options,
					grpc.WithTransportCredentials(credentials.NewTLS(authority.Client(certificate))))
			}
			return s.Dial(options...)
		}
	}
	said := func(name string) func(*servertest.Server) *grpc.ClientConn {
		return with("", server.PrincipalKey, name)
	}
	bears := func(certificate, name string) func(*servertest.Server) *grpc.ClientConn {
		return with(certificate, "authorization", "Bearer "+issuer.Token(name, func(c map[string]any) {
			c["groups"] = []string{"all " + name + "s"}
		}))
	}
	web := func(certificate, key, value string) func(*servertest.Server) *servertest.JSON {
		return func(s *servertest.Server) *servertest.JSON { return asJSON(s, authority, certificate, key, value) }
	}
	bearing := func(certificate string) func(*servertest.Server) *servertest.JSON {
		return web(certificate, "Authorization", "Bearer "+issuer.Token("caller", func(c map[string]any) {
			c["groups"] = []string{"all callers"}
		}))
	}
	socket := filepath.Join(t.TempDir(), "s")
	uid, of := fmt.Sprintf("uid:%d", os.Geteuid()), "oidc:"+issuer.URL+"#caller"
	groups := []string{issuer.URL + "#all%20callers"}
	return []door{
		{"TCP", "unverified:caller", "unverified:caller", nil, func(*server.Config) {}, said("caller"),
			said("stranger"), web("", "Accountant-Principal", "caller"), false},
		{"mutual TLS", "cn:caller", "cn:caller", nil, func(c *server.Config) { c.TLS = files }, mutual("caller"),
			mutual("stranger"), web("caller", "", ""), false},
		{"Unix socket", uid, uid, nil, func(c *server.Config) { c.Listen = append(c.Listen, "unix://"+socket) },
			func(*servertest.Server) *grpc.ClientConn { return dialSocket(t, socket) }, nil, nil, false},
		{"a token", of, of, groups, tokens, bears("", "caller"), bears("", "stranger"), bearing(""), false},
		{"a token's group", "group:" + groups[0], of, groups, tokens, bears("", "caller"), bears("", "stranger"),
			bearing(""), false},
		// The token counts, whose the connection's certificate ever is.
		{"a token over mutual TLS", of, of, groups, func(c *server.Config) { c.TLS = files; tokens(c) },
			bears("stranger", "caller"), bears("caller", "stranger"), bearing("stranger"), false},
		{"mutual TLS under a token", "cn:caller", "cn:caller", nil,
			func(c *server.Config) { c.TLS = files; tokens(c) }, mutual("caller"), bears("caller", "stranger"),
			web("caller", "", ""), false},
		{name: "a fleet's own socket", principal: uid, caller: uid, server: func(*server.Config) {}, fleet: true},
	}
}

// saying makes each call with a key of the metadata.
func saying(key, value string) []grpc.DialOption {
	add := func(ctx context.Context) context.Context { return metadata.AppendToOutgoingContext(ctx, key, value) }
	return []grpc.DialOption{
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(add(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn,
			method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return streamer(add(ctx), desc, cc, method, opts...)
		}),
	}
}

func dialSocket(t *testing.T, path string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// messageAbout makes a request of a method whose ledger is name, and that says nothing else.
func messageAbout(t *testing.T, in protoreflect.MessageDescriptor, name string) proto.Message {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(in.FullName())
	if err != nil {
		t.Fatal(err)
	}
	m := kind.New()
	for _, path := range [][]protoreflect.Name{{"ledger"}, {"name"}, {"spec", "name"}, {"open", "ledger"},
		{"lane", "ledger"}, {"set", "ledgers"}, {"id"}} {
		text := name
		if path[0] == "id" {
			text = strings.TrimPrefix(name, "dataset:")
		}
		at, found := m, text != ""
		for _, field := range path[:len(path)-1] {
			fd := at.Descriptor().Fields().ByName(field)
			if found = found && fd != nil && fd.Message() != nil; !found {
				break
			}
			at = at.Mutable(fd).Message()
		}
		fd := at.Descriptor().Fields().ByName(path[len(path)-1])
		switch {
		case !found || fd == nil || fd.Kind() != protoreflect.StringKind:
		case fd.IsList():
			at.Mutable(fd).List().Append(protoreflect.ValueOfString(text))
		default:
			at.Set(fd, protoreflect.ValueOfString(text))
		}
	}
	return m.Interface()
}

// call calls a method, and returns how it ended. Of a stream that goes on it takes one answer.
func call(ctx context.Context, conn grpc.ClientConnInterface, m protoreflect.MethodDescriptor,
	request proto.Message) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	full := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
	answer := api.NewAnswer(m)
	if !m.IsStreamingServer() {
		return conn.Invoke(ctx, full, request, answer)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{StreamName: string(m.Name()), ServerStreams: true,
		ClientStreams: m.IsStreamingClient()}, full)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.RecvMsg(answer); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// denied reports whether the access policy refused the call.
func denied(err error) bool {
	return status.Code(err) == codes.PermissionDenied &&
		strings.HasPrefix(status.Convert(err).Message(), "not allowed by the access policy: you are ")
}

// needsTwo reports whether a call was refused because two people are needed.
func needsTwo(err error) bool {
	return status.Code(err) == codes.FailedPrecondition && strings.Contains(err.Error(), "this needs two people")
}

// Each method with each role, over everything, a prefix or a dataset, about ledgers and datasets in
// and out of scope that exist or not, and over each kind of listener, is allowed or denied exactly as
// the table in docs/access.md says, and GetAccess says the same beforehand.
func TestAccessMatrix(t *testing.T) {
	t.Parallel()
	rules := documented(t)
	if n := len(slices.Collect(api.Methods())); len(rules) != n {
		t.Errorf("docs/access.md has %d rules; there are %d methods", len(rules), n)
	}
	var cells atomic.Int64
	all := doors(t)
	t.Run("doors", func(t *testing.T) {
		for i, d := range all {
			t.Run(d.name, func(t *testing.T) {
				t.Parallel()
				m := matrix{t: t, door: d, rules: rules, first: i}
				m.run()
				cells.Add(int64(m.cells))
			})
		}
	})
	t.Logf("%d cells", cells.Load())
}

// matrix makes the calls of a kind of listener, and counts them.
type matrix struct {
	t     *testing.T
	door  door
	rules map[string]documentedRule
	first int // at which policy it begins
	cells int

	// Of the policy that is in force.
	role string
	terms
	owner *grpc.ClientConn
	web   *servertest.JSON // nil if the caller cannot come over HTTP
}

func (m *matrix) run() {
	roles := []string{"nothing"}
	for _, r := range access.Roles() {
		roles = append(roles, r.String())
	}
	policies := m.first // with -short each door has an eighth of them, and the eight doors have them all
	for _, role := range roles {
		for _, o := range allTerms {
			if policies++; policies%testaid.Every(8) != 0 {
				continue
			}
			to, given := m.door.principal, role
			if role == "nothing" { // a grant that is somebody else's
				to, given = "cn:somebody-else", "reporter"
			}
			policy := fmt.Sprintf("version: 1\ncontact: ada\ngrants:\n  - {roles: %s, to: '%s', on: '%s'}\n", given, to,
				o.over)
			if m.door.fleet {
				policy += chief
			}
			if o.two {
				policy += "two_people: {within: 1h}\n"
			}
			s := matrixServer(m.t, m.door, policy)
			m.role, m.terms, m.owner = role, o, dialSocket(m.t, s.Own)
			conn := m.owner
			if m.door.fleet {
				m.owner = s.Dial(saying(server.PrincipalKey, "chief")...)
			} else {
				conn = m.door.dial(s.Server)
			}
			if m.web = nil; m.door.web != nil && (o.two || o.over == "prefix:in/") { // a part, as they take long
				m.web = m.door.web(s.Server)
			}
			m.each(func(method protoreflect.MethodDescriptor) { m.row(conn, method) })
			m.creations(conn)
			m.lists(conn)
			m.registers(conn)
			if m.door.stranger != nil && o.over == "everything" {
				m.role, m.web = "nothing", nil
				stranger := m.door.stranger(s.Server)
				m.each(func(method protoreflect.MethodDescriptor) { m.row(stranger, method) })
				m.role = role
			}
			if role == "nothing" && !m.door.fleet {
				m.each(m.ownSocket)
			}
			s.Stop()
		}
	}
}

func (m *matrix) each(do func(protoreflect.MethodDescriptor)) {
	for method := range api.Methods() {
		do(method)
	}
}

// at says where something was wrong.
func (m *matrix) at() string { return fmt.Sprintf("%s: %s over %v", m.door.name, m.role, m.terms) }

type matrixed struct {
	*servertest.Server
	Own string
}

func matrixServer(t *testing.T, d door, policy string) matrixed {
	t.Helper()
	dir := t.TempDir()
	file, own := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "own")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	// Without the policy, so that one person can register datasets.
	config := server.Config{Socket: own, HTTP: "127.0.0.1:0", Dashboard: true}
	store := memory.New(memory.Config{})
	first := servertest.StartWith(t, servertest.Config{Store: store, Server: config})
	owner := api.NewClient(dialSocket(t, own))
	for _, id := range []string{"mine", "other"} {
		spec := survey(servertest.Basic(2))
		spec.Id, spec.Independence = id, "made for this test"
		if _, err := owner.CreateDataset(servertest.Context(t), &pb.CreateDatasetRequest{Spec: spec}); err != nil {
			t.Fatal(err)
		}
	}
	for _, spec := range []*pb.LedgerSpec{servertest.Spec("in/there"), servertest.Spec("out/there"),
		of("mine", "1", servertest.Filter("of/mine", servertest.Basic(1))),
		of("other", "1", servertest.Filter("of/other", servertest.Basic(1)))} {
		if _, err := owner.CreateLedger(servertest.Context(t), &pb.CreateLedgerRequest{Spec: spec}); err != nil {
			t.Fatal(err)
		}
	}
	first.Stop()
	config.AccessPolicy = file
	d.server(&config)
	shared := servertest.Config{Store: store, Server: config}
	if d.fleet {
		shared.Store = store.Shared()
	}
	return matrixed{servertest.StartWith(t, shared), own}
}

// row makes one call about each subject.
func (m *matrix) row(conn *grpc.ClientConn, method protoreflect.MethodDescriptor) {
	m.t.Helper()
	said := map[string]string{} // what those are told who may not know
	name, rule := string(method.Name()), m.rules[string(method.Name())]
	for _, a := range abouts {
		err := call(servertest.Context(m.t), conn, method, messageAbout(m.t, method.Input(), a.name))
		m.overHTTP(method, a.name, err)
		m.checks(conn, method, rule, a)
		m.several(conn, method, rule, a)
		allowed := rule.allows(m.role, m.terms, a)
		if denied(err) == allowed {
			m.t.Errorf("%s: %s of %q: %v; allowed by the documentation: %v", m.at(), name, a.name, err, allowed)
		}
		if allowed && needsTwo(err) != (m.two && together[name]) {
			m.t.Errorf("%s: %s of %q: %v", m.at(), name, a.name, err)
		}
		found := rule.finds(m.terms, a)
		there := a.dataset != "" && strings.HasPrefix(a.name, "dataset:")
		if allowed && there && strings.Contains(rule.on, "not found") && (status.Code(err) == codes.NotFound) == found {
			m.t.Errorf("%s: %s of %q: %v; found by the documentation: %v", m.at(), name, a.name, err, found)
		}
		if denied(err) {
			text := status.Convert(err).Message()
			if !strings.HasSuffix(text, "; ask ada") {
				m.t.Errorf("%s: %s does not say whom to ask: %s", m.at(), name, text)
			}
			said[a.name] = strings.ReplaceAll(text, a.name, "NAME")
		}
		m.cells++
		if m.role != "nothing" || m.door.stranger == nil { // a stranger is somebody else
			m.asks(name, a.name, "", "", allowed && found)
		}
	}
	for _, scope := range []string{"in/", "out/"} {
		if said[scope+"there"] != said[scope+"missing"] {
			m.t.Errorf("%s: %s tells those without rights what exists: %q, %q", m.at(), name, said[scope+"there"],
				said[scope+"missing"])
		}
	}
}

// several makes the call about two ledgers, of which the caller has a right to one at least, if the method writes in
// lanes. Whoever has no right to the other one is denied the call.
func (m *matrix) several(conn *grpc.ClientConn, method protoreflect.MethodDescriptor, rule documentedRule, a about) {
	m.t.Helper()
	if !strings.Contains(rule.on, "every one of several") || a.name == "" || a.name == "in/more" {
		return
	}
	for _, check := range []bool{false, true} {
		request := messageAbout(m.t, method.Input(), "")
		lane := request.ProtoReflect().Mutable(method.Input().Fields().ByName("lane")).Message().Interface().(*pb.Lane)
		lane.Ledgers, lane.CheckOnly = &pb.LedgerSet{Ledgers: []string{a.name, "in/more"}}, check
		rule := rule
		if check && method.Name() == "Report" {
			rule.may = m.rules["GetLedger"].may
		}
		err := call(servertest.Context(m.t), conn, method, request)
		rule.held = false
		allowed := rule.allows(m.role, m.terms, a) && rule.allows(m.role, m.terms, about{name: "in/more"})
		if denied(err) == allowed {
			m.t.Errorf("%s: %s of %q and another one, check_only %v: %v; allowed by the documentation: %v", m.at(),
				method.Name(), a.name, check, err, allowed)
		}
		m.cells++
	}
}

// checks makes the call with check_only, if the method has it: viewers may check charges, and those who may do
// something else may check it.
func (m *matrix) checks(conn *grpc.ClientConn, method protoreflect.MethodDescriptor, rule documentedRule, a about) {
	m.t.Helper()
	request := messageAbout(m.t, method.Input(), a.name)
	at := request.ProtoReflect()
	if lane := at.Descriptor().Fields().ByName("lane"); lane != nil {
		at = at.Mutable(lane).Message()
	}
	only := at.Descriptor().Fields().ByName("check_only")
	if only == nil {
		return
	}
	at.Set(only, protoreflect.ValueOfBool(true))
	name := method.Name()
	if name == "Report" {
		rule.may = m.rules["GetLedger"].may
	}
	err := call(servertest.Context(m.t), conn, method, request)
	if allowed := rule.allows(m.role, m.terms, a); denied(err) == allowed {
		m.t.Errorf("%s: %s of %q with check_only: %v; allowed by the documentation: %v", m.at(), method.Name(), a.name,
			err, allowed)
	}
	m.cells++
}

// asks compares what access check says of a call with whether that is allowed.
func (m *matrix) asks(method, about, parent, dataset string, allowed bool) {
	m.t.Helper()
	unproven := !access.Caller{Principal: m.door.caller}.Proven() && (method == "Propose" || method == "Approve")
	answer, err := api.NewClient(m.owner).GetAccess(servertest.Context(m.t),
		&pb.GetAccessRequest{Principal: m.door.caller, Groups: m.door.groups, Method: method, Ledger: about,
			Parent: parent, Dataset: dataset})
	if err != nil {
		m.t.Fatal(err)
	}
	if want := allowed && !unproven && !(m.two && together[method]); answer.GetAllowed() != want {
		m.t.Errorf("%s: access check %s %q (parent %q, dataset %q): %v, %s; want %v", m.at(), method, about, parent,
			dataset, answer.GetAllowed(), answer.GetReason(), want)
	}
	m.cells++
}

// creations asks to create ledgers with parents and of datasets: the role is needed on all of them.
func (m *matrix) creations(conn *grpc.ClientConn) {
	m.t.Helper()
	for _, name := range []string{"in/new", "out/new"} {
		for _, parent := range []about{{}, {name: "in/there"}, {name: "out/there"}, {"of/mine", "mine"}} {
			for _, dataset := range []string{"", "mine", "other"} {
				_, err := api.NewClient(conn).CreateLedger(servertest.Context(m.t),
					&pb.CreateLedgerRequest{Spec: &pb.LedgerSpec{Name: name, Parent: parent.name, DatasetId: dataset}})
				allowed := m.role == "manager" && m.covers(about{name: name}) &&
					(parent.name == "" || m.covers(parent)) && (dataset == "" || m.covers(about{"dataset:", dataset}))
				if denied(err) == allowed || err == nil { // without an adjacency it is invalid
					m.t.Errorf("%s: %s below %q of %q: %v; want allowed: %v", m.at(), name, parent.name, dataset, err,
						allowed)
				}
				m.cells++
				m.asks("CreateLedger", name, parent.name, dataset, allowed)
			}
		}
	}
}

// lists compares what lists show with what may be seen.
func (m *matrix) lists(conn *grpc.ClientConn) {
	m.t.Helper()
	client := api.NewClient(conn)
	ledgers, err := client.ListLedgers(servertest.Context(m.t), &pb.ListLedgersRequest{})
	datasets, err2 := client.ListLedgers(servertest.Context(m.t), &pb.ListLedgersRequest{Prefix: "dataset:"})
	if m.cells += 2; m.role == "nothing" {
		if !denied(err) || !denied(err2) {
			m.t.Errorf("%s: lists: %v, %v", m.at(), err, err2)
		}
		return
	}
	var got, want []string
	for _, l := range slices.Concat(ledgers.GetLedgers(), datasets.GetLedgers()) {
		got = append(got, l.GetName())
	}
	for _, a := range []about{{name: "in/there"}, {"of/mine", "mine"}, {"of/other", "other"}, {name: "out/there"},
		{name: "system:access"}, {"dataset:mine", "mine"}, {"dataset:other", "other"}} {
		if m.covers(a) {
			want = append(want, a.name)
		}
	}
	if err != nil || err2 != nil || !slices.Equal(got, want) {
		m.t.Errorf("%s: lists show %v (%v, %v); want %v", m.at(), got, err, err2, want)
	}
}

// registers registers a dataset with a ledger that it adopts, and amends one.
func (m *matrix) registers(conn *grpc.ClientConn) {
	m.t.Helper()
	owner, client := api.NewClient(m.owner), api.NewClient(conn)
	var adopted []string
	if !m.door.fleet { // there a ledger of a dataset comes after its record
		adopted = []string{"out/of-new"}
		if _, err := owner.CreateLedger(servertest.Context(m.t), &pb.CreateLedgerRequest{
			Spec: of("new", "1", servertest.Filter(adopted[0], servertest.Basic(1)))}); err != nil {
			m.t.Fatal(err)
		}
	}
	allowed := m.role == "officer" && m.over == "everything"
	spec := survey(servertest.Basic(2))
	spec.Id, spec.Independence = "new", "made for this test"
	asked := &pb.CreateDatasetRequest{Spec: spec}
	if m.two { // by a proposal only, of a caller whose identity is proven
		_, err := client.CreateDataset(servertest.Context(m.t), asked)
		if m.cells++; needsTwo(err) != allowed || denied(err) == allowed {
			m.t.Errorf("%s: registering alone: %v", m.at(), err)
		}
		asked.Propose = true
		allowed = allowed && access.Caller{Principal: m.door.caller}.Proven()
	}
	made, err := client.CreateDataset(servertest.Context(m.t), asked)
	there, missing := owner.GetLedger(servertest.Context(m.t), &pb.GetLedgerRequest{Name: "dataset:new"})
	if m.cells++; allowed != (err == nil) || allowed && !slices.Equal(made.GetAdopted(), adopted) ||
		!allowed && made != nil || allowed != (missing == nil) ||
		allowed && m.two != there.GetLedger().GetDataset().GetNeedsConfirming() {
		m.t.Errorf("%s: registering: %v, %v; afterwards %v, %v", m.at(), made, err, there, missing)
	}
	allowed = m.role == "officer" && m.over == "everything"
	title := "another title"
	_, err = client.AmendDataset(servertest.Context(m.t), &pb.AmendDatasetRequest{
		Lane:  &pb.Lane{Ledger: "dataset:" + "mine", Sequence: 1, Writer: servertest.Writer()},
		Amend: &pb.AmendDataset{Title: &title, Reason: "r"},
	})
	mine, err2 := owner.GetLedger(servertest.Context(m.t), &pb.GetLedgerRequest{Name: "dataset:mine"})
	amended := mine.GetLedger().GetDataset().GetSpec().GetTitle() == title
	if m.cells++; err2 != nil || allowed != (err == nil) || allowed != amended {
		m.t.Errorf("%s: amending: %v; afterwards %v, %v", m.at(), err, mine, err2)
	}
}

// ownSocket makes the calls over the daemon's own socket, where everything is allowed but to be one
// of two people.
func (m *matrix) ownSocket(method protoreflect.MethodDescriptor) {
	m.t.Helper()
	name := string(method.Name())
	for _, a := range abouts {
		err := call(servertest.Context(m.t), m.owner, method, messageAbout(m.t, method.Input(), a.name))
		if m.cells++; denied(err) != (m.two && (name == "Propose" || name == "Approve")) ||
			needsTwo(err) != (m.two && together[name]) {
			m.t.Errorf("own socket, two people: %v: %s of %q: %v", m.two, name, a.name, err)
		}
	}
}

// Who has no certificate where one is demanded does not come in at all.
func TestNoCertificateNoCall(t *testing.T) {
	t.Parallel()
	authority := servertest.NewAuthority(t)
	var files endpoint.TLSFiles
	files.Cert, files.Key = authority.Issue("server", nil)
	files.ClientCA = authority.File
	s := matrixServer(t, door{server: func(c *server.Config) { c.TLS = files }},
		"version: 1\ngrants:\n  - {roles: viewer, to: ['unverified:**', 'cn:*'], on: everything}\n")
	conn := s.Dial(grpc.WithTransportCredentials(credentials.NewTLS(authority.Client(""))))
	for m := range api.Methods() {
		err := call(servertest.Context(t), conn, m, messageAbout(t, m.Input(), "in/there"))
		var closed *net.OpError
		if status.Code(err) != codes.Unavailable && !errors.As(err, &closed) {
			t.Errorf("%s without a certificate: %v", m.Name(), err)
		}
	}
}
