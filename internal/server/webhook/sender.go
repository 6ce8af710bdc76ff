// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	maxQueued = 1000    // messages for one address
	maxTold   = 20_000  // messages that are known to be told
	maxAnswer = 1 << 16 // bytes of an answer that are read
	timeout   = 10 * time.Second
	// A message is tried so often, after pauses that double from the first to the longest: for an hour or so.
	attempts     = 20
	firstPause   = time.Second
	longestPause = 5 * time.Minute
)

// Sender posts messages. It is safe for concurrent use.
type Sender struct {
	config Config
	logger *slog.Logger
	client *http.Client
	count  func(outcome string)
	queues []chan Message
	pause  time.Duration // the first one

	mu   sync.Mutex
	told *lru.Cache[string, struct{}]
}

// Outcomes are what is counted: messages that were delivered, attempts that failed and are made again, and messages
// that were dropped, for which there was no room or which failed too often.
var Outcomes = []string{"delivered", "failed", "dropped"}

// NewSender returns a sender, whose messages wait until Run.
func NewSender(c Config, logger *slog.Logger, count func(outcome string)) *Sender {
	told, err := lru.New[string, struct{}](maxTold)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout, transport.MaxResponseHeaderBytes = timeout, maxAnswer
	s := &Sender{config: c, logger: logger, told: told, pause: firstPause, count: count,
		client: &http.Client{Timeout: timeout, Transport: transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	for range c.Addresses {
		s.queues = append(s.queues, make(chan Message, maxQueued))
	}
	return s
}

// Tell has a message posted to each address, unless this sender was told it before. It never waits.
func (s *Sender) Tell(m Message) {
	s.mu.Lock()
	known, _ := s.told.ContainsOrAdd(m.ID, struct{}{})
	s.mu.Unlock()
	if known {
		return
	}
	for i, queue := range s.queues {
		select {
		case queue <- m:
		default:
			s.drop(s.config.Addresses[i], m, fmt.Errorf("%d messages wait for this address", maxQueued))
		}
	}
}

// Dropped counts what found no room before it was a message.
func (s *Sender) Dropped() { s.count("dropped") }

func (s *Sender) drop(to *url.URL, m Message, why error) {
	s.Dropped()
	s.logger.Warn("a webhook's message is dropped", "host", to.Host, "id", m.ID, "type", m.Type,
		"ledger", m.Data.Ledger, "error", why)
}

// Run posts until ctx ends. What is not delivered by then is not kept.
func (s *Sender) Run(ctx context.Context) {
	var posting sync.WaitGroup
	for i, queue := range s.queues {
		posting.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case m := <-queue:
					s.deliver(ctx, s.config.Addresses[i], m)
				}
			}
		})
	}
	posting.Wait()
}

// deliver posts a message until it is taken, at most so often. Those after it wait.
func (s *Sender) deliver(ctx context.Context, to *url.URL, m Message) {
	body, err := json.Marshal(m)
	for n, pause := 1, s.pause; err == nil; n, pause = n+1, min(2*pause, longestPause) {
		failed := s.post(ctx, to, m, body)
		switch {
		case failed == nil:
			s.count("delivered")
			return
		case ctx.Err() != nil:
			return
		case n == attempts:
			err = failed
			continue
		}
		s.count("failed")
		s.logger.Debug("a webhook's message was not taken", "host", to.Host, "id", m.ID, "attempt", n, "error", failed)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause/2 + rand.N(pause/2+1)): // daemons that failed together do not come back together
		}
	}
	s.drop(to, m, err)
}

func (s *Sender) post(ctx context.Context, to *url.URL, m Message, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return withoutAddress(err)
	}
	now := time.Now()
	r.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"accountantd"},
		"Webhook-Id": {m.ID}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {sign(s.config.Secrets, m.ID, now, body)}}
	answer, err := s.client.Do(r)
	if err != nil {
		return withoutAddress(err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // so that the connection can be used again
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("status %d", answer.StatusCode) // a redirect, too: messages go nowhere else
	}
	return nil
}

// withoutAddress is an error of HTTP without the address, whose path is often as secret as a password.
func withoutAddress(err error) error {
	if e, ok := err.(*url.Error); ok {
		return e.Err
	}
	return err
}
