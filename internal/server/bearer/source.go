// SPDX-License-Identifier: Apache-2.0

package bearer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// askAgain is the least time between two questions to an issuer for its keys, whatever tokens come.
	askAgain = 10 * time.Second
	// refreshEvery is how long keys are used before their issuer is asked whether they are still its.
	refreshEvery = 10 * time.Minute
	// keepFor is how long known keys count while their issuer does not answer.
	keepFor = 24 * time.Hour
	// MaxWaiting bounds the calls that wait for an issuer's answer. Whoever can reach the daemon can
	// make one, with a token that names a key of their own.
	MaxWaiting = 64
)

// source provides the keys of one issuer. It remembers the last good ones.
type source struct {
	Issuer
	read   func(ctx context.Context) ([]byte, error) // returns a JSON Web Key Set
	local  bool                                      // the keys are in a file, which is cheap to look at
	now    func() time.Time
	logger *slog.Logger

	asking  chan struct{} // full while somebody reads
	waiting chan struct{} // full while as many calls as may wait for that

	mu        sync.Mutex
	keys      *keySet   // nil: none were read yet
	confirmed time.Time // when they were last read
	asked     time.Time // when somebody last tried to
	failure   string    // of the last try; "" if it went well
}

// current returns the keys in force, nil if there are none.
func (s *source) current() *keySet {
	if s.local {
		s.look()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.local && s.now().Sub(s.confirmed) > keepFor {
		return nil
	}
	return s.keys
}

func (s *source) age() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Sub(s.confirmed)
}

// find returns the key for a token, and the set that it is of. If the issuer has not got such a key as
// far as is known, it is asked again, but not more often than askAgain: a new key may have come. At most
// MaxWaiting calls wait for the answer; the others are refused at once.
func (s *source) find(ctx context.Context, id, algorithm string) (jose.JSONWebKey, *keySet, error) {
	keys := s.current()
	if keys == nil || !keys.has(id) {
		select {
		case s.waiting <- struct{}{}:
		default:
			return jose.JSONWebKey{}, nil, unchecked("many calls wait already for its issuer %s to give its keys; "+
				"come again", s.URL)
		}
		s.ask(ctx)
		<-s.waiting
		keys = s.current()
	}
	if keys == nil {
		return jose.JSONWebKey{}, nil, unchecked("its issuer %s does not give its keys; the daemon's log says why",
			s.URL)
	}
	key, named := keys.find(id, algorithm)
	switch {
	case key.Key != nil:
		return key, keys, nil
	case named:
		return key, nil, refuse("algorithm", "it is signed by an algorithm that is not that of its issuer's key; "+
			"ask %s for a new one", s.URL)
	case id == "":
		return key, nil, refuse("key", "it does not say which of its issuer's keys signed it (kid), and %s has several",
			s.URL)
	case s.failing():
		return key, nil, unchecked("it is signed with a key that is not known, and the keys of its issuer %s could "+
			"not be read again; the daemon's log says why", s.URL)
	}
	return key, nil, refuse("key", "it is signed with a key that its issuer %s does not have, or has no more; ask "+
		"it for a new one", s.URL)
}

func (s *source) failing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure != ""
}

// ask reads the keys, unless that was tried a moment ago. Of many who want to, one does; all wait for
// it as long as their ctx allows.
func (s *source) ask(ctx context.Context) {
	select {
	case s.asking <- struct{}{}:
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	now := s.now()
	since := now.Sub(s.asked)
	late := s.asked.IsZero() || since < 0 || since >= askAgain // below zero the clock was put back
	if late {
		s.asked = now
	}
	s.mu.Unlock()
	if !late {
		<-s.asking
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { <-s.asking }()
		s.renew(context.WithoutCancel(ctx))
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// renew reads the keys. If that fails, those before stay in force.
func (s *source) renew(ctx context.Context) {
	content, err := s.read(ctx)
	if err == nil {
		err = s.take(content)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.failure, s.confirmed = "", s.now()
		return
	}
	if text := err.Error(); text != s.failure {
		s.failure = text
		s.logger.Error("an issuer's keys were not read; those read before stay in use", "issuer", s.URL, "known",
			s.keys != nil, "error", text)
	}
}

// take puts keys in force. Equal ones leave the set as it is, and with it what is remembered of tokens.
func (s *source) take(content []byte) error {
	s.mu.Lock()
	before := s.keys
	s.mu.Unlock()
	if before != nil && before.content == string(content) {
		return nil
	}
	keys, err := readKeys(content)
	if err != nil {
		return fmt.Errorf("%s: %w", s.where(), err)
	}
	s.mu.Lock()
	s.keys = keys
	s.mu.Unlock()
	s.logger.Info("an issuer's keys were read", "issuer", s.URL, "keys", len(keys.byID), "unusable", keys.left)
	return nil
}

// run keeps the keys fresh until ctx ends: that an issuer has taken back a key is noticed by this alone. A
// file is read with the tokens that come; here it is for its age, when none come.
func (s *source) run(ctx context.Context) {
	for {
		if s.local {
			s.look()
		} else {
			s.ask(ctx)
		}
		wait := refreshEvery
		if s.failing() {
			wait = askAgain
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
