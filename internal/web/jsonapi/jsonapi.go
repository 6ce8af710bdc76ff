// SPDX-License-Identifier: Apache-2.0

// Package jsonapi is the API as JSON over HTTP, for languages and programs without gRPC: each method but
// ReportStream is POST /accountant.v1.SERVICE/METHOD, whose body is the request and whose answer is
// the response, both as `accountctl --output json` writes messages. A method that streams its answers gives
// a line of JSON for each. grpc-gateway makes the handlers from the protos; what they ask goes to the gRPC
// service, which checks and decides.
package jsonapi

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	gateway "github.com/dpaccountant/accountant/gen/gateway/accountant/v1"

	"github.com/dpaccountant/accountant/internal/api"
	"github.com/dpaccountant/accountant/internal/wire"
)

// Prefix begins the path of every method.
const Prefix = api.Prefix

// DocumentPath is where the OpenAPI document is.
const DocumentPath = "/openapi.json"

// Document describes the methods as OpenAPI.
//
//go:embed document/openapi.json
var Document []byte

// New returns the handler of all paths that begin with Prefix, and of DocumentPath. A request's context says for whom
// its call is made.
func New(conn grpc.ClientConnInterface) (http.Handler, error) {
	none := func(string) (string, bool) { return "", false }
	methods := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, format{}),
		// Nothing of a request's headers becomes metadata of the call, but Grpc-Timeout its deadline.
		runtime.WithIncomingHeaderMatcher(none), runtime.WithOutgoingHeaderMatcher(none),
		runtime.WithOutgoingTrailerMatcher(none),
		runtime.WithErrorHandler(func(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler,
			w http.ResponseWriter, _ *http.Request, err error) {
			writeError(ctx, w, err)
		}),
		runtime.WithDisablePathLengthFallback(), runtime.WithDisableHTTPMethodOverride(),
		runtime.WithDisableChunkedEncoding(), // net/http does that by itself
	)
	if err := register(methods, api.NewClient(conn)); err != nil {
		return nil, err
	}
	document := http.NewServeMux()
	document.HandleFunc("GET "+DocumentPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(Document)
	})
	all := calls{methods, newPlaces()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, Prefix) {
			all.ServeHTTP(w, r)
			return
		}
		document.ServeHTTP(w, r)
	}), nil
}

// register gives each service's methods to the gateway.
func register(mux *runtime.ServeMux, c api.Client) error {
	ctx := context.Background()
	return errors.Join(gateway.RegisterLedgersHandlerClient(ctx, mux, c),
		gateway.RegisterChargesHandlerClient(ctx, mux, c), gateway.RegisterQuestionsHandlerClient(ctx, mux, c),
		gateway.RegisterDatasetsHandlerClient(ctx, mux, c), gateway.RegisterAuditHandlerClient(ctx, mux, c),
		gateway.RegisterAdminHandlerClient(ctx, mux, c))
}

// calls checks what HTTP itself says of a call before the gateway reads its message.
type calls struct {
	next  http.Handler
	large places
}

// ServeHTTP implements http.Handler.
func (c calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	done := func() {}
	method, err := check(w, r)
	if err == nil {
		body, done, err = c.large.read(w, r)
	}
	if err != nil {
		writeError(r.Context(), w, err)
		return
	}
	if method.IsStreamingServer() { // it may last for days, and its request is soon decoded
		done()
	} else {
		defer done()
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.next.ServeHTTP(w, r)
}

// check returns the method that a request calls. The error says how HTTP answers, where that is not by the code.
func check(w http.ResponseWriter, r *http.Request) (protoreflect.MethodDescriptor, error) {
	method := api.At(r.URL.Path)
	switch kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case method == nil:
		return nil, answer(http.StatusNotFound, codes.Unimplemented,
			"path: %s; allowed: "+Prefix+"SERVICE/METHOD, with a method of %s",
			wire.Quote(r.URL.Path), DocumentPath)
	case method.IsStreamingClient():
		return nil, answer(http.StatusNotImplemented, codes.Unimplemented,
			"path: %s is a stream of many requests, which only gRPC "+
				"has; allowed: Report, a call for each charge", wire.Quote(r.URL.Path))
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return nil, answer(http.StatusMethodNotAllowed, codes.Unimplemented,
			"method: %s; allowed: POST, with a message as JSON",
			wire.Quote(r.Method))
	case err != nil || kind != "application/json" || !utf8Only(parameters):
		w.Header().Set("Accept-Post", "application/json")
		return nil, answer(http.StatusUnsupportedMediaType, codes.InvalidArgument,
			"Content-Type: %s; allowed: application/json",
			wire.Quote(r.Header.Get("Content-Type")))
	case r.Header.Get("Content-Encoding") != "":
		return nil, answer(http.StatusUnsupportedMediaType, codes.InvalidArgument,
			"Content-Encoding: %s; allowed: none",
			wire.Quote(r.Header.Get("Content-Encoding")))
	}
	return method, checkTimeout(r)
}

// utf8Only reports whether a media type's parameters say no other encoding than UTF-8.
func utf8Only(parameters map[string]string) bool {
	for name, value := range parameters {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

// Refuse answers a call that does not come in.
func Refuse(w http.ResponseWriter, r *http.Request, httpStatus int, code codes.Code, text string) {
	writeError(r.Context(), w, answer(httpStatus, code, "%s", text))
}

func answer(httpStatus int, code codes.Code, form string, args ...any) error {
	return &runtime.HTTPStatusError{HTTPStatus: httpStatus, Err: status.Error(code, fmt.Sprintf(form, args...))}
}
