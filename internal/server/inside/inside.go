// SPDX-License-Identifier: Apache-2.0

// Package inside carries calls from the daemon's HTTP port to its own gRPC service, over a connection of
// the process with itself. So pages and JSON pass the same interceptors, validation and rights as a call
// from outside, and get the same errors.
//
// Who asks travels beside the connection, in memory: the call carries a random ticket under which the
// service finds the caller. The service honours a ticket only on a connection of endpoint.ListenInside,
// once, so nobody outside can name a caller in this way. Everything else that the call carries is set here
// too, and what the HTTP side has put into the call's metadata is dropped.
package inside

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/dpaccountant/accountant/internal/server/endpoint"
)

// Caller is who makes an HTTP request, as far as the HTTP port has found out.
type Caller struct {
	// Proof is what the connection proves.
	endpoint.Proof
	// Session is who has logged in, where that was done.
	Session Session
	// CanLogIn is set where there is a login, at /login; POST /logout ends it.
	CanLogIn bool
	// Address is the peer's, for the log.
	Address string
	// Answered is told when the request has been answered. Nil: nobody waits for that.
	Answered *Answered
	// Metadata is what the call says in its metadata: the names that the gRPC service knows.
	Metadata metadata.MD
}

// Session is what a login proves.
type Session struct {
	Principal string // "" without a login
	Groups    []string
	Until     time.Time // then it proves nothing any more
	// LoggedIn is when the issuer has last found out who they are, by its own word; zero if it does not say.
	LoggedIn time.Time
	// Token goes into the forms of the session's pages: whoever sends one has seen such a page. It is in no cookie.
	Token string `json:"-"`
	// Fresh is set while the login is so new that the same person is likely to sit there still.
	Fresh bool `json:"-"`
}

// Answered is told when a part of what was asked has been answered, and then calls what was left with it.
type Answered struct {
	mu   sync.Mutex
	over bool
	then []func()
}

// Then calls f when it has been answered, at once if that was before or a is nil.
func (a *Answered) Then(f func()) {
	if a == nil {
		f()
		return
	}
	a.mu.Lock()
	over := a.over
	if !over {
		a.then = append(a.then, f)
	}
	a.mu.Unlock()
	if over {
		f()
	}
}

// Each returns a context for a part of what a caller asks for, such as each change of a page that follows a ledger, and
// the function that says that this part has been answered.
func Each(ctx context.Context) (context.Context, func()) {
	c, _ := From(ctx)
	a := new(Answered)
	c.Answered = a
	return With(ctx, c), func() {
		a.mu.Lock()
		then := a.then
		a.over, a.then = true, nil
		a.mu.Unlock()
		for _, f := range then {
			f()
		}
	}
}

type callerKey struct{}

// With returns a context whose calls are made for a caller.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// From returns for whom a context's calls are made.
func From(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok
}

// ticketKey is the metadata key of a call's ticket.
const ticketKey = "accountant-inside"

// Way is the way from the HTTP port to the gRPC service. The zero value is not usable.
type Way struct {
	mu      sync.Mutex
	callers map[string]Caller // of calls under way that the service has not seen yet, by ticket
}

// New returns a way.
func New() *Way { return &Way{callers: map[string]Caller{}} }

var (
	errNobody = errors.New("a call from the HTTP port does not say for whom it is made")
	errTicket = errors.New("a call from inside without a valid ticket")
)

// Dial returns a connection whose calls are made for the callers in their contexts.
func (w *Way) Dial(dial func(context.Context) (net.Conn, error)) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///inside",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)), // of our own service
		grpc.WithChainUnaryInterceptor(w.unary), grpc.WithChainStreamInterceptor(w.stream))
}

func (w *Way) unary(ctx context.Context, method string, request, answer any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	ctx, done, err := w.send(ctx)
	if err != nil {
		return err
	}
	defer done()
	return invoke(ctx, method, request, answer, conn, options...)
}

func (w *Way) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, done, err := w.send(ctx)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, done) // gRPC demands that the context of a stream ends
	return open(ctx, desc, conn, method, options...)
}

// send keeps the caller for the service. done forgets a caller whom the service has never asked for.
func (w *Way) send(ctx context.Context) (out context.Context, done func(), err error) {
	c, ok := From(ctx)
	if !ok {
		return nil, nil, errNobody
	}
	ticket := rand.Text()
	w.mu.Lock()
	w.callers[ticket] = c
	w.mu.Unlock()
	all := metadata.Join(c.Metadata)
	all.Set(ticketKey, ticket)
	return metadata.NewOutgoingContext(ctx, all), func() { w.take(ticket) }, nil
}

func (w *Way) take(ticket string) (Caller, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c, ok := w.callers[ticket]
	delete(w.callers, ticket)
	return c, ok
}

// Caller returns for whom a call is made that has come over a connection of this process with itself. It
// must be asked once in each call.
func (w *Way) Caller(ctx context.Context) (Caller, error) {
	tickets := metadata.ValueFromIncomingContext(ctx, ticketKey)
	if len(tickets) != 1 {
		return Caller{}, errTicket
	}
	c, ok := w.take(tickets[0])
	if !ok {
		return Caller{}, errTicket
	}
	return c, nil
}
