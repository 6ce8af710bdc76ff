// SPDX-License-Identifier: Apache-2.0

package wirejson

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/wire"
)

// FuzzJSON: what can be read is written, and reads as the same message.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(gaussianFile))
	f.Add([]byte("\xa3"))
	golden, err := os.ReadFile("testdata/messages.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, document := range strings.SplitAfter(string(golden), "\n}\n") {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []proto.Message{&pb.Workload{}, &pb.ListEntriesResponse{}, &pb.QueryPrivacyResponse{}} {
			if err := Unmarshal(b, m); err != nil {
				var invalid *wire.InvalidError
				if !errors.As(err, &invalid) || len(err.Error()) > 2000 || !utf8.ValidString(err.Error()) {
					t.Fatalf("error %q", err)
				}
				continue
			}
			out, err := Marshal(m)
			if err != nil {
				t.Fatalf("read %v, but cannot write it: %v", m, err)
			}
			back := m.ProtoReflect().New().Interface()
			if err := Unmarshal(out, back); err != nil || !proto.Equal(m, back) {
				t.Fatalf("%v came back as %v, %v", m, back, err)
			}
			if again, err := Marshal(back); err != nil || !bytes.Equal(out, again) {
				t.Fatalf("%s was written again as %s, %v", out, again, err)
			}
		}
	})
}
