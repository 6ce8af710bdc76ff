// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/server"
	"github.com/dpaccountant/accountant/internal/server/servertest"
	"github.com/dpaccountant/accountant/internal/server/webhook"
)

// told is a receiver of webhooks.
type told struct {
	*httptest.Server
	mu   sync.Mutex
	all  []webhook.Message // with IDs
	raw  []string
	hold chan struct{} // if set, answers wait for it
}

func receive(t *testing.T) *told {
	r := &told{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		m := webhook.Message{}
		if err != nil || json.Unmarshal(body, &m) != nil {
			t.Errorf("%s: %v", body, err)
		}
		m.ID = q.Header.Get("webhook-id")
		r.mu.Lock()
		r.all, r.raw = append(r.all, m), append(r.raw, string(body))
		r.mu.Unlock()
		if r.hold != nil {
			select {
			case <-r.hold:
			case <-q.Context().Done():
			}
		}
	}))
	t.Cleanup(r.Close)
	return r
}

// kinds are the messages, as "type ledger".
func (r *told) kinds() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.all {
		list = append(list, m.Type+" "+m.Data.Ledger)
	}
	slices.Sort(list)
	return list
}

func (r *told) waits(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(want)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got := r.kinds()
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(end) || len(got) > len(want) {
			t.Fatalf("told %q; want %q", got, want)
		}
	}
}

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func hook(t *testing.T, address string) webhook.Config {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := webhook.ParseSecrets([]byte(hookSecret))
	if err != nil {
		t.Fatal(err)
	}
	return webhook.Config{Addresses: []*url.URL{u}, Secrets: secrets}
}

// People are told once of a proposal, of a budget that is nearly used and of one that refuses, however often it does;
// after a raise again. A daemon that starts tells the same again under the same ID, and what it says names nobody.
func TestEventsAreTold(t *testing.T) {
	t.Parallel()
	r := receive(t)
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Webhook: hook(t, r.URL), HTTP: "127.0.0.1:0",
		Dashboard: true, Socket: filepath.Join(t.TempDir(), "own")}})
	ctx, owner := servertest.Context(t), s.Owner(t)
	s.Create(servertest.Filter("quiet", servertest.Basic(10)))
	s.Report("quiet", servertest.Writer(), 1, pureCharge(7.9, 1))
	s.Create(servertest.Filter("small", servertest.Basic(10)))
	w := servertest.Writer()
	charge := pureCharge(8, 1)
	charge.Labels = map[string]string{"secret": "unlikely"}
	s.Report("small", w, 1, charge)
	r.waits(t, "budget.nearly_used small")
	refuse := func() {
		for range 100 {
			_, err := s.Client.Report(ctx, &pb.ReportRequest{Lane: &pb.Lane{Ledger: "small", Writer: w, Sequence: 2},
				Charge: pureCharge(8, 1)})
			if err == nil {
				t.Fatal("a charge of 8 beside 8 of 10 was taken")
			}
		}
	}
	refuse()
	r.waits(t, "budget.nearly_used small", "budget.refused small")
	refuse()
	raise := func(epsilon float64) *pb.Raise {
		return &pb.Raise{Budgets: []*pb.Budget{servertest.Basic(epsilon)}, Reason: "unlikely"}
	}
	proposed, err := owner.Propose(ctx, &pb.ProposeRequest{
		Lane:    &pb.Lane{Ledger: "small", Writer: servertest.Writer(), Sequence: 1},
		Propose: &pb.Propose{Action: &pb.Propose_Raise{Raise: raise(100)}}})
	if err != nil {
		t.Fatal(err)
	}
	before := []string{"budget.nearly_used small", "budget.refused small", "proposal.waiting small"}
	r.waits(t, before...)
	r.mu.Lock()
	ids := map[string]string{}
	for i, m := range r.all {
		ids[m.Type] = m.ID
		page := "http://" + s.HTTPAddr + map[bool]string{true: "/approvals",
			false: "/ledger?name=small"}[m.Type == "proposal.waiting"]
		if m.Data.Page != page || m.Data.Text == "" || m.Timestamp.IsZero() {
			t.Errorf("%+v; want the page %s", m, page)
		}
		for _, secret := range []string{"unverified", "anonymous", "uid:", "unlikely", w} {
			if strings.Contains(r.raw[i], secret) {
				t.Errorf("%s tells %s", r.raw[i], secret)
			}
		}
	}
	if m := r.all[0].Data; m.Share == nil || *m.Share != 0.8 {
		t.Errorf("%+v; want a share of 0.8", m)
	}
	r.mu.Unlock()

	// What still holds is told again, and what a daemon has refused is not.
	s.Restart()
	again := append(before, "budget.nearly_used small", "proposal.waiting small")
	r.waits(t, again...)
	r.mu.Lock()
	for _, m := range r.all {
		if m.ID != ids[m.Type] {
			t.Errorf("%s: %s and %s", m.Type, m.ID, ids[m.Type])
		}
	}
	r.mu.Unlock()

	owner = s.Owner(t)
	if _, err := owner.Withdraw(ctx, &pb.WithdrawRequest{
		Lane:     &pb.Lane{Ledger: "small", Writer: servertest.Writer(), Sequence: 1},
		Withdraw: &pb.Withdraw{Proposal: proposed.GetReceipt().GetPosition()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Raise(ctx, &pb.RaiseRequest{
		Lane:  &pb.Lane{Ledger: "small", Writer: servertest.Writer(), Sequence: 1},
		Raise: raise(20)}); err != nil {
		t.Fatal(err)
	}
	s.Report("small", w, 2, pureCharge(8, 1)) // 16 of 20
	r.waits(t, append(again, "budget.nearly_used small")...)
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := r.all[len(r.all)-1]; last.ID == ids["budget.nearly_used"] {
		t.Error("of the larger budget nothing is told that a receiver would not drop")
	}
}

// A receiver that does not answer holds up no charge and no stop.
func TestEventsHoldUpNothing(t *testing.T) {
	t.Parallel()
	r := receive(t)
	r.hold = make(chan struct{})
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Webhook: hook(t, r.URL)}})
	for _, name := range []string{"a", "b", "c"} {
		s.Create(servertest.Filter(name, servertest.Basic(10)))
		w := servertest.Writer()
		for i := range uint64(20) {
			s.Report(name, w, i+1, pureCharge(0.5, 1))
		}
	}
	for len(r.kinds()) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Stop()
	if got := r.kinds(); len(got) != 1 {
		t.Errorf("%q; want one message, which is not answered", got)
	}
}

// The receiver that docs/webhooks.md shows passes on what is genuine, and each message once, also after it was started
// again.
func TestReceiver(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	chat := make(chan string, 10)
	into := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		chat <- string(body)
	}))
	t.Cleanup(into.Close)
	seen := filepath.Join(t.TempDir(), "seen")
	start := func(at string) (address string, stop func()) {
		c := exec.CommandContext(t.Context(), python, "../../examples/webhook/receiver.py", at, seen)
		c.Env = append(os.Environ(), "WEBHOOK_SECRET="+hookSecret, "CHAT="+into.URL)
		out, err := c.StderrPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		port, ok := strings.CutPrefix(strings.TrimSpace(line), "ready at ")
		if err != nil || !ok {
			t.Fatalf("%v: %s", err, line)
		}
		stop = sync.OnceFunc(func() { _ = c.Process.Kill(); _ = c.Wait() })
		t.Cleanup(stop)
		return "127.0.0.1:" + port, stop
	}
	address, stop := start("127.0.0.1:0")
	forged, err := http.Post("http://"+address, "application/json", strings.NewReader(`{"data":{"text":"forged"}}`))
	if err != nil || forged.StatusCode != http.StatusUnauthorized {
		t.Errorf("%v, %v", forged, err)
	}
	_ = forged.Body.Close()
	s := servertest.StartWith(t, servertest.Config{Server: server.Config{Webhook: hook(t, "http://"+address)}})
	s.Create(servertest.Filter("a", servertest.Basic(10)))
	s.Report("a", servertest.Writer(), 1, pureCharge(9, 1))
	if got := <-chat; !strings.Contains(got, "The ledger a is nearly used up: 90 %") {
		t.Errorf("the chat got %s", got)
	}
	for kept := ""; !strings.HasPrefix(kept, "msg_"); { // after the chat has it
		b, err := os.ReadFile(seen)
		if kept = string(b); err != nil {
			t.Fatal(err)
		}
	}
	// The daemon tells it again after a restart, and the receiver, which was started again, drops that.
	stop()
	start(address)
	s.Restart()
	s.Create(servertest.Filter("b", servertest.Basic(10)))
	s.Report("b", servertest.Writer(), 1, pureCharge(8.5, 1))
	if got := <-chat; !strings.Contains(got, "The ledger b is nearly used up: 85 %") {
		t.Errorf("the chat got %s", got)
	}
}
