// SPDX-License-Identifier: Apache-2.0

package fairuse

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// How many streams are open at once over HTTP, such as pages that follow a ledger: those of all callers, of one
// who proves who he is, and of all others together. A stream takes some 100 KiB and asks for a history whenever
// its ledger has changed.
const (
	allStreams    = 512
	eachStreams   = 64
	othersStreams = 256
)

// Streams counts the streams that are open over HTTP. The zero value counts none yet.
type Streams struct{ shares }

// Enter counts a stream until leave is called, or refuses it.
func (s *Streams) Enter(principal string, proven bool) (leave func(), err error) {
	h := holderOf(principal, proven, eachStreams, othersStreams)
	own, ok := s.change(h, 0, 1, allStreams)
	switch {
	case !ok && own && proven:
		return nil, tooManyStreams(fmt.Sprintf("you follow ledgers by %d streams over HTTP already", h.most))
	case !ok && own:
		return nil, tooManyStreams(fmt.Sprintf("callers who do not prove who they are follow ledgers by %d streams "+
			"over HTTP already", h.most))
	case !ok:
		return nil, tooManyStreams(fmt.Sprintf("%d streams are open over HTTP already", allStreams))
	}
	return sync.OnceFunc(func() { s.change(h, 1, 0, allStreams) }), nil
}

// tooManyStreams refuses a stream.
type tooManyStreams string

func (e tooManyStreams) Error() string {
	return fmt.Sprintf("%s; allowed: %d for each caller, %d for those who do not prove who they are, %d in all; close "+
		"a page or a stream that you no longer need, or watch with accountctl or a gRPC client", string(e),
		eachStreams, othersStreams, allStreams)
}

// GRPCStatus implements the interface by which gRPC finds an error's status.
func (e tooManyStreams) GRPCStatus() *status.Status {
	return status.New(codes.ResourceExhausted, e.Error())
}
