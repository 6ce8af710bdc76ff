// SPDX-License-Identifier: Apache-2.0

package client

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// A daemon that has not let a call in says when to come back, and nobody is told that its outcome is unknown.
func TestNotLetInWroteNothing(t *testing.T) {
	lost := status.New(codes.Unavailable, "the connection is lost")
	detailed, err := lost.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(1)})
	if err != nil {
		t.Fatal(err)
	}
	if wroteNothing(lost.Err()) || !wroteNothing(detailed.Err()) || !again(detailed.Err()) {
		t.Error("want the second to have written nothing, and to be tried again")
	}
}
