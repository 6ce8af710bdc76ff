// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
)

// rows is a service that lists rows by name, at most 200 in an answer.
type rows struct {
	list  []*pb.OverviewRow
	calls int
	slow  time.Duration // a call takes as long
}

func (s *rows) Invoke(_ context.Context, _ string, request, answer any, _ ...grpc.CallOption) error {
	r := request.(*pb.QueryOverviewRequest)
	s.calls++
	time.Sleep(s.slow)
	from, _ := strconv.Atoi(r.GetPageToken())
	to := min(len(s.list), from+int(r.GetPageSize()))
	out := &pb.QueryOverviewResponse{Rows: s.list[from:to]}
	if to < len(s.list) {
		out.NextPageToken = strconv.Itoa(to)
	}
	proto.Merge(answer.(proto.Message), out)
	return nil
}

func (s *rows) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, nil
}

// row is a row of which x says all numbers; negative: it has none.
func row(name, owner, dataset string, x float64) *pb.OverviewRow {
	r := &pb.OverviewRow{Name: name, DatasetId: dataset, State: "open", Delta: 1e-6}
	if owner != "" {
		r.Owners = []string{owner}
	}
	if x >= 0 {
		r.Share, r.EpsilonSpent, r.Epsilon = &x, &x, &x
		r.LastTime = timestamppb.New(time.Unix(int64(1000*x), 0))
	}
	return r
}

func get(t *testing.T, site http.Handler, at string) string {
	t.Helper()
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, at, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", at, w.Code, w.Body)
	}
	return w.Body.String()
}

var namedRow = regexp.MustCompile(`<th scope="row"><a href="[^"]*">([^<]*)<`)

func namesOn(page string) (names []string) {
	for _, m := range namedRow.FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	return names
}

// Each column sorts both ways; what has no value comes last, and what is equal stays in the order of names.
func TestOverviewIsSortedByEveryColumn(t *testing.T) {
	t.Parallel()
	site := New(&rows{list: []*pb.OverviewRow{row("a", "zoe", "", 0.5), row("b", "", "m", -1),
		row("c", "ann", "k", 0.9), row("d", "ann", "m", 0.1)}})
	numbers := func(key string) [2]string { return [2]string{key + " c a d b", "-" + key + " d a c b"} }
	all := [][2]string{{" a b c d", "-name d c b a"}, {"dataset c b d a", "-dataset b d c a"},
		{"owner c d a b", "-owner a c d b"}, numbers("used"), {"left d a c b", "-left c a d b"}, numbers("spent"),
		numbers("guaranteed"), {"delta a b c d", "-delta a b c d"}, numbers("activity"),
		{"state a b c d", "-state a b c d"}}
	if len(all) != len(columnsOf(false)) {
		t.Errorf("%d columns are tried, and there are %d", len(all), len(columnsOf(false)))
	}
	for _, both := range all {
		for _, want := range both {
			key, names, _ := strings.Cut(want, " ")
			page := get(t, site, "/?sort="+key)
			if got := strings.Join(namesOn(page), " "); got != names {
				t.Errorf("%q: %s; want %s", key, got, names)
			}
			if n := strings.Count(page, `aria-sort="none"`); n != len(all)-1 {
				t.Errorf("%q: %d headings are not sorted", key, n)
			}
		}
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?sort=cost", nil))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "allowed: name, dataset, owner, used") {
		t.Errorf("an order that does not exist: %d %s", w.Code, w.Body)
	}
}

// The pages of a list have each row once, in its order over all of them, whatever is asked for; where there are more
// rows than are sorted at once, the page says so and leads to the others.
func TestOverviewPages(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 50, 51, 120, 2000, 2001, 4321} {
		service := &rows{}
		for i := range n {
			service.list = append(service.list, row(fmt.Sprintf("l%04d", i), "o", "d", float64(i*7919%n)/float64(n)))
		}
		site := New(service)
		next := func(page, rel string) string {
			m := regexp.MustCompile(rel).FindStringSubmatch(page)
			if m == nil {
				return ""
			}
			return strings.ReplaceAll(m[1], "&amp;", "&")
		}
		var got []string
		blocks := 0
		for block := "/?sort=used&contains=l"; block != ""; blocks++ {
			begin, further := len(got), ""
			for at := block; at != ""; {
				service.calls = 0
				page := get(t, site, at)
				names := namesOn(page)
				if got = append(got, names...); service.calls > blockCalls || len(names) > overviewRows {
					t.Fatalf("%s: %d calls and %d rows", at, service.calls, len(names))
				}
				if n > 0 && !strings.Contains(page, `value="l"`) {
					t.Errorf("%s has lost the filter", at)
				}
				if further = next(page, `; <a href="([^"]*)">the next ones`); (further != "") !=
					(n-begin > blockRows) {
					t.Errorf("%d: %s leads further to %q", n, at, further)
				}
				at = next(page, `href="([^"]*)" rel="next"`)
			}
			shares := map[string]float64{}
			for _, r := range service.list {
				shares[r.GetName()] = r.GetShare()
			}
			if !slices.IsSortedFunc(got[begin:], func(a, b string) int { return -int(1e6 * (shares[a] - shares[b])) }) {
				t.Errorf("%d: a block of %d is not sorted", n, len(got)-begin)
			}
			block = further
		}
		slices.Sort(got)
		if len(got) != n || len(slices.Compact(got)) != n || blocks != max(1, (n+blockRows-1)/blockRows) {
			t.Errorf("%d rows: %d on the pages of %d blocks", n, len(got), blocks)
		}
	}
	few := New(&rows{list: []*pb.OverviewRow{row("a", "", "", 1)}})
	if page := get(t, few, "/?page=99"); !strings.Contains(page, "Page 1 of 1") {
		t.Errorf("a page after the last one: %s", page)
	}
}

// Where the numbers of many ledgers take long, the page is there with those that are found, and says so; a file is
// whole.
func TestOverviewDoesNotWait(t *testing.T) {
	t.Parallel()
	service := &rows{slow: blockTime + 10*time.Millisecond}
	for i := range 450 {
		service.list = append(service.list, row(fmt.Sprintf("l%04d", i), "o", "d", 0.5))
	}
	page := get(t, New(service), "/?sort=used")
	if service.calls != 1 || !strings.Contains(page, "still finding the numbers") ||
		!strings.Contains(page, "refresh") || !strings.Contains(page, `<a href="/?sort=used">load this page again`) {
		t.Errorf("after %d calls:\n%s", service.calls, page)
	}
	service.slow = blockTime / 2
	if file := get(t, New(service), "/file/overview.csv"); strings.Count(file, "\n") != 451 {
		t.Errorf("the file has %d lines; want 451", strings.Count(file, "\n"))
	}
}

// Totals count what needs somebody, and lead to it.
func TestOverviewTotals(t *testing.T) {
	t.Parallel()
	waits, lost, broken := row("d", "", "", 0.2), row("e", "", "", 0.1), &pb.OverviewRow{Name: "f", Problem: "damaged"}
	waits.Flags, lost.State = []string{"reserved", "proposed"}, "needs reconciling"
	page := get(t, New(&rows{list: []*pb.OverviewRow{row("a", "", "", 1.5), row("b", "", "", 0.8), row("c", "", "", -1),
		waits, lost, broken}}), "/?sort=owner")
	for _, want := range []string{"<strong>6</strong> ledgers",
		`<a href="/?share=0.8&amp;sort=owner"><strong>2</strong> at least 80 % used`,
		`<a href="/?share=1&amp;sort=owner"><strong>1</strong> used up`,
		`<a href="/?flag=proposed&amp;sort=owner"><strong>1</strong> waiting for approval`,
		`state=needs&#43;reconciling"><strong>1</strong> to be reconciled`, "<strong>1</strong> without a budget",
		"<strong>1</strong> without numbers"} {
		if !strings.Contains(page, want) {
			t.Errorf("the totals lack %q:\n%s", want,
				regexp.MustCompile(`(?s)<ul class="totals.*?</ul>`).FindString(page))
		}
	}
	if strings.Contains(page, "closed</a>") {
		t.Error("nothing is closed, and the totals count it")
	}
}

// What is left is never more than there is.
func TestLeftIsRoundedDown(t *testing.T) {
	t.Parallel()
	for used, want := range map[float64]string{0: "100 %", 0.5: "50 %", 1e-30: "99.9 %", 0.8451: "15.4 %", 1: "0 %",
		1.7: "0 %"} {
		if got := leftOf(used); got != want {
			t.Errorf("%v used: %s left; want %s", used, got, want)
		}
	}
}
