// SPDX-License-Identifier: Apache-2.0

package bearer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

var (
	// ErrRefused means that a token proves nothing. It will not later either.
	ErrRefused = errors.New("token refused")
	// ErrUnchecked means that a token could not be checked, because its issuer does not give its keys.
	ErrUnchecked = errors.New("token not checked")
)

// Refusal says why a token was not taken. It wraps ErrRefused or ErrUnchecked, and has nothing of the
// token in it.
type Refusal struct {
	// Check is the check that failed, in one word of a fixed list.
	Check string
	text  string
	kind  error
}

// Error returns the reason in a sentence.
func (r *Refusal) Error() string { return "token: " + r.text }

// Unwrap returns ErrRefused or ErrUnchecked.
func (r *Refusal) Unwrap() error { return r.kind }

func refuse(check, format string, args ...any) error {
	return &Refusal{check, fmt.Sprintf(format, args...), ErrRefused}
}

func unchecked(format string, args ...any) error {
	return &Refusal{"unreachable", fmt.Sprintf(format, args...), ErrUnchecked}
}

func malformed() error {
	return refuse("form", "it is not a signed JSON Web Token: three parts in base64url, separated by dots")
}

// unparsed says why a token could not be read. The parser's own error quotes the token's header.
func unparsed(token string, err error) error {
	var other *jose.ErrUnexpectedSignatureAlgorithm
	switch {
	case strings.Count(token, ".") == 4:
		return refuse("form", "it is encrypted (five parts); allowed: one that its issuer signed (three parts)")
	case !errors.As(err, &other):
		return malformed()
	case strings.EqualFold(string(other.Got), "none"):
		return refuse("algorithm", "it has no signature (alg none); %s", algorithmsAllowed)
	}
	return refuse("algorithm", "it is signed by an algorithm that is not taken; %s", algorithmsAllowed)
}
