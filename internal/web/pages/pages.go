// Package pages is the dashboard: pages for people who do not read command lines.
package pages

import (
	"net/http"

	"google.golang.org/grpc"
)

// New returns the handler of all pages. It asks over conn; a call's context must be the request's, which
// says for whom the call is made.
func New(conn grpc.ClientConnInterface) http.Handler {
	mux := http.NewServeMux()
	return mux
}
