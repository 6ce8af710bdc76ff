// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Messages are signed as the specification's own test does it (standard-webhooks, libraries/go/webhook_test.go,
// TestWebhookSign), with each of two secrets while one is replaced.
func TestSignature(t *testing.T) {
	t.Parallel()
	secrets, err := ParseSecrets([]byte("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n\nMfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	got := sign(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if got != want+" "+want {
		t.Errorf("%s; want %s twice", got, want)
	}
	for _, file := range []string{"", "\n", "whsec_", "whsec_c2hvcnQ=", "whsec_!",
		strings.Repeat("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", 5)} {
		if got, err := ParseSecrets([]byte(file)); err == nil || strings.Contains(err.Error(), "c2hvcnQ") {
			t.Errorf("%q: %v, %v", file, got, err)
		}
	}
}

// Messages go to https, and to http on this machine. What is wrong is not repeated, as it may hold a password.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://chat.example/hooks/x?y=z", "http://127.0.0.1:8090/", "http://[::1]:1",
		"http://localhost"} {
		if _, err := ParseAddress(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "https://", "http://secret.example/", "http://127.0.0.1.secret.example",
		"http://localhost.secret.example", "https://ann:secret@chat.example", "ftp://secret", "/secret",
		"https://h/#secret", "http://0.0.0.0/secret", "http://10.0.0.1/secret", "unix:///secret"} {
		if u, err := ParseAddress(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", bad, u, err)
		}
	}
}

// receiver is a receiver of messages that a test makes.
type receiver struct {
	mu   sync.Mutex
	ids  []string
	body []string
}

func (r *receiver) take(t *testing.T, secrets [][]byte, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids, r.body = append(r.ids, q.Header.Get("webhook-id")), append(r.body, string(body))
	at, err := time.Parse(time.RFC3339, "1970-01-01T00:00:00Z")
	if err == nil {
		var seconds time.Duration
		seconds, err = time.ParseDuration(q.Header.Get("webhook-timestamp") + "s")
		at = at.Add(seconds)
	}
	if want := sign(secrets, q.Header.Get("webhook-id"), at, body); err != nil || q.Method != http.MethodPost ||
		q.Header.Get("webhook-signature") != want || time.Since(at) > time.Hour ||
		q.Header.Get("content-type") != "application/json" {
		t.Errorf("%s %v: %v", q.Method, q.Header, err)
	}
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids)
}

// sending starts a sender to receivers, with short pauses. It returns what was counted.
func sending(t *testing.T, receivers ...string) (*Sender, func(outcome string) int64, [][]byte, *bytes.Buffer) {
	t.Helper()
	secrets := [][]byte{bytes.Repeat([]byte{7}, 24)}
	c := Config{Secrets: secrets}
	for _, r := range receivers {
		u, err := url.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		c.Addresses = append(c.Addresses, u)
	}
	var mu sync.Mutex
	counts := map[string]int64{}
	log := &bytes.Buffer{} // read once the sender has ended
	s := NewSender(c, slog.New(slog.NewTextHandler(log, nil)), func(outcome string) {
		mu.Lock()
		defer mu.Unlock()
		counts[outcome]++
	})
	s.pause = time.Millisecond
	return s, func(outcome string) int64 {
		mu.Lock()
		defer mu.Unlock()
		return counts[outcome]
	}, secrets, log
}

// run runs the sender until the test, or the function that it returns, ends it.
func (s *Sender) run(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.Run(ctx); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

func message(fact string) Message {
	return New(BudgetRefused, time.Now(), Data{Text: "it " + fact}, "store", fact)
}

// A receiver that fails gets the message again, under the same ID, and the next ones after it. One that fails for ever
// keeps no other receiver from its messages.
func TestFailingReceiver(t *testing.T) {
	t.Parallel()
	var r, other receiver
	var fails atomic.Int64
	var s *Sender
	var secrets [][]byte
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.take(t, secrets, q)
		if fails.Add(1) <= 3 {
			w.WriteHeader([]int{500, 429, 404}[fails.Load()-1])
		}
	}))
	t.Cleanup(failing.Close)
	good := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		other.take(t, secrets, q)
	}))
	t.Cleanup(good.Close)
	dead := httptest.NewServer(nil)
	dead.Close()
	s, count, secrets2, _ := sending(t, failing.URL, good.URL, dead.URL+"/hooks/secret")
	secrets = secrets2
	stop := s.run(t)
	a, b := message("a"), message("b")
	s.Tell(a)
	s.Tell(a) // again
	s.Tell(b)
	until(t, "not delivered", func() bool { return count("delivered") == 4 })
	stop()
	if got := r.got(); !slices.Equal(got, []string{a.ID, a.ID, a.ID, a.ID, b.ID}) {
		t.Errorf("%v", got)
	}
	if got := other.got(); !slices.Equal(got, []string{a.ID, b.ID}) || a.ID == b.ID {
		t.Errorf("the other: %v", got)
	}
}

// A message that fails too often is dropped, counted and logged without its address, whose path is a password.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	dead := httptest.NewServer(nil)
	dead.Close()
	s, count, _, log := sending(t, dead.URL+"/hooks/secret")
	s.pause = time.Nanosecond
	// Pauses double: with a nanosecond first the twentieth is half a millisecond.
	stop := s.run(t)
	s.Tell(message("a"))
	until(t, "not given up", func() bool { return count("dropped") == 1 })
	stop()
	if count("failed") != attempts-1 || count("delivered") != 0 || !strings.Contains(log.String(), "is dropped") ||
		strings.Contains(log.String(), "secret") {
		t.Errorf("%d failed; the log: %s", count("failed"), log)
	}
}

// Messages go to no other address than the operator's: a redirect is a failure.
func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for _, code := range []int{301, 302, 307, 308} {
		from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			http.Redirect(w, q, other.URL, code)
		}))
		t.Cleanup(from.Close)
		s, count, _, _ := sending(t, from.URL)
		s.run(t)
		s.Tell(message("a"))
		until(t, "not tried again", func() bool { return count("failed") >= 2 })
		if count("delivered") != 0 {
			t.Errorf("%d was delivered", code)
		}
	}
	if elsewhere.Load() != 0 {
		t.Errorf("%d messages went elsewhere", elsewhere.Load())
	}
}

// A receiver that does not answer holds up nobody who tells, and what finds no room is dropped and counted. One that
// answers without end is not listened to.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	var asked atomic.Int64
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		asked.Add(1)
		select {
		case <-held:
		case <-q.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(held) })
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		for q.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	s, count, _, _ := sending(t, slow.URL, endless.URL)
	stop := s.run(t)
	s.Tell(message("first"))
	until(t, "the slow one is not asked, or the endless one is listened to", func() bool {
		return asked.Load() == 1 && count("delivered") == 1
	})
	for i := range 3 * maxQueued {
		s.Tell(message(Number(uint64(i))))
	}
	until(t, "nothing is dropped", func() bool { return count("dropped") >= 2*maxQueued })
	stop() // at once, although the slow one has not answered
}
