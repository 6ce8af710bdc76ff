// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/dpaccountant/accountant/internal/server/bearer"
	"github.com/dpaccountant/accountant/internal/server/bearer/bearertest"
	"github.com/dpaccountant/accountant/internal/server/endpoint"
)

// A good token that came in plain text from another machine is refused: somebody may have read it.
func TestTokenInPlainText(t *testing.T) {
	t.Parallel()
	i := bearertest.New(t)
	v, err := bearer.New(bearer.Config{Logger: slog.New(slog.DiscardHandler), Issuers: []bearer.Issuer{
		{URL: i.URL, Keys: i.Keys, Audiences: []string{bearertest.Audience}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{tokens: v, metrics: NewMetrics()}
	header := metadata.Pairs("authorization", "Bearer "+i.Token("ann", nil))
	for private, want := range map[bool]codes.Code{true: codes.OK, false: codes.Unauthenticated} {
		_, err = s.byToken(t.Context(), header, endpoint.Proof{Private: private})
		if got := statusOf(err).Code(); got != want {
			t.Errorf("private: %v: %v; want %v", private, err, want)
		}
	}
}
