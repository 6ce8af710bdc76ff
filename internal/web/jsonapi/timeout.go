// SPDX-License-Identifier: Apache-2.0

package jsonapi

import (
	"net/http"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/dpaccountant/accountant/internal/wire"
)

// timeoutForm is the form of gRPC's timeouts ("PROTOCOL-HTTP2.md" of grpc/grpc).
var timeoutForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,8}[HMSmun]$`) })

// checkTimeout checks how long a call may take. The gateway reads it afterwards, and takes no time at all for no bound.
func checkTimeout(r *http.Request) error {
	values := r.Header.Values("Grpc-Timeout")
	const allowed = "allowed: one value of 1 to 8 digits and a unit, H, M, S, m (milliseconds), u or n, such as 5S"
	switch text := strings.Join(values, ", "); {
	case len(values) == 0:
		return nil
	case len(values) > 1 || !timeoutForm().MatchString(text):
		return answer(http.StatusBadRequest, codes.InvalidArgument, "Grpc-Timeout: %s; "+allowed, wire.Quote(text))
	case strings.Trim(text[:len(text)-1], "0") == "":
		return answer(http.StatusGatewayTimeout, codes.DeadlineExceeded, "Grpc-Timeout: %s leaves no time; "+allowed,
			wire.Quote(text))
	}
	return nil
}
