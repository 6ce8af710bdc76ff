// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// A ledger's name is no header, no path and no program to whoever saves a file of it.
func TestFileNames(t *testing.T) {
	t.Parallel()
	for about, want := range map[string]string{
		"": "entries", "team/mnist": "team-mnist-entries", "a\r\nSet-Cookie: x=1": "a--Set-Cookie--x-1-entries",
		`"; filename="evil.exe`: "---filename--evil-exe-entries", "../../etc/passwd": "------etc-passwd-entries",
		"\u202egnp.exe": "-gnp-exe-entries", strings.Repeat("é", 100): strings.Repeat("-", 80) + "-entries",
	} {
		got := fileName("entries", about)
		if got != want {
			t.Errorf("%q: %q; want %q", about, got, want)
		}
		_, values, err := mime.ParseMediaType(fmt.Sprintf(`attachment; filename="%s.csv"`, got))
		if err != nil || values["filename"] != got+".csv" {
			t.Errorf("%q: a browser reads %q: %v", about, values, err)
		}
	}
}

// broken is a service with a ledger of three entries, of which the last one cannot be read.
type broken struct{ first error }

func (b broken) Invoke(_ context.Context, _ string, request, answer any, _ ...grpc.CallOption) error {
	switch r := request.(type) {
	case *pb.GetLedgerRequest:
		proto.Merge(answer.(proto.Message), &pb.GetLedgerResponse{Ledger: &pb.Ledger{Position: 3}})
	case *pb.ListEntriesRequest:
		if r.GetPageToken() != "" {
			return errors.New("damaged")
		}
		proto.Merge(answer.(proto.Message), &pb.ListEntriesResponse{NextPageToken: "2",
			Entries: []*pb.Entry{{Position: 1}, {Position: 2}}})
		return b.first
	}
	return nil
}

func (broken) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, nil
}

// A file whose end cannot be read never looks whole: the connection breaks. What cannot begin is a page that says so.
func TestFilesAreWholeOrBroken(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{"csv", "json", "md"} {
		func() {
			defer func() {
				if p := recover(); p != http.ErrAbortHandler {
					t.Errorf("%s: %v; want a broken connection", ending, p)
				}
			}()
			New(broken{}).ServeHTTP(httptest.NewRecorder(),
				httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/file/entries."+ending+"?name=a", nil))
		}()
		w := httptest.NewRecorder()
		New(broken{errors.New("nobody may")}).ServeHTTP(w,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/file/entries."+ending+"?name=a", nil))
		if w.Code == http.StatusOK || w.Header().Get("Content-Disposition") != "" ||
			!strings.Contains(w.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s: what may not be seen: %d %v", ending, w.Code, w.Header())
		}
	}
}
