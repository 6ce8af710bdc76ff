// Package recent lists values that nobody uses, the oldest first.
package recent

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// List lists values in the order in which they came out of use.
type List[T comparable] struct{ *simplelru.LRU[T, struct{}] }

// New returns an empty list.
func New[T comparable]() List[T] {
	l, _ := simplelru.NewLRU[T, struct{}](math.MaxInt, nil) // which refuses only a size below 1
	return List[T]{l}
}

// Push makes v the newest.
func (r List[T]) Push(v T) { r.Add(v, struct{}{}) }
