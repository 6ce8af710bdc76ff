// SPDX-License-Identifier: Apache-2.0

package fairuse

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Each caller has a part of what all answers may take, and somebody who has nothing else is never refused.
func TestAnswers(t *testing.T) {
	refused := 0
	all := NewAnswers(func(limit string) {
		if limit != "answers" {
			t.Errorf("limit %q", limit)
		}
		refused++
	})
	ann, more := all.To("cn:ann", true), all.To("cn:ann", true)
	if err := ann.Take(eachAnswers); err != nil {
		t.Fatal(err)
	}
	err := more.Take(1)
	if s := status.Convert(err); s.Code() != codes.ResourceExhausted || len(s.Details()) != 1 ||
		s.Details()[0].(*errdetails.RetryInfo).GetRetryDelay().AsDuration() != time.Second ||
		!strings.Contains(s.Message(), "for you, or wait to be read, fill 16 MiB") || refused != 1 {
		t.Errorf("%v, %v, refused %d times", err, s.Details(), refused)
	}
	if !ann.Fits(eachAnswers-1) || !more.Fits(1) || more.Fits(2) || more.Taken() != 1 {
		t.Errorf("a byte less makes room for a byte, and no more; taken: %d", more.Taken())
	}
	x, y := all.To("unverified:x", false), all.To("unverified:y", false)
	if !x.Fits(othersAnswers) || y.Fits(1) {
		t.Error("all who prove nothing share one part")
	}
	bob := all.To("cn:bob", true)
	if err := bob.Take(eachAnswers); err != nil { // 16 of 16 MiB that are left
		t.Error(err)
	}
	if err := all.To("cn:eve", true).Take(1); err == nil || !strings.Contains(err.Error(), "all callers together") {
		t.Errorf("beyond what all may take: %v", err)
	}
	for _, a := range []*Answer{ann, more, x, y, bob} {
		a.Release()
		a.Release()
	}
	if !ann.Fits(1<<40) || ann.Taken() != 0 {
		t.Error("an answer that was sent takes something again")
	}
	if huge := all.To("cn:ann", true); !huge.Fits(2*allAnswers) || all.taken != 2*allAnswers || len(all.by) != 1 {
		t.Errorf("who has nothing else is refused; taken: %d, %v", all.taken, all.by)
	}
}
