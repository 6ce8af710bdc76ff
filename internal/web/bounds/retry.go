// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"math"
	"net/http"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// RetryAfter sets the header that says in how many seconds to come back, if an error of the service does.
func RetryAfter(h http.Header, err error) {
	for _, detail := range status.Convert(err).Details() {
		if wish, ok := detail.(*errdetails.RetryInfo); ok {
			h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wish.GetRetryDelay().AsDuration().Seconds()))))
		}
	}
}
