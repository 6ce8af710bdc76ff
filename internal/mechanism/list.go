// SPDX-License-Identifier: Apache-2.0

package mechanism

// List is a list of values that can be compared with == and be part of a map's
// key, as descriptors must: two lists are equal exactly when they have equal values
// in the same order. The zero value is the empty list.
type List[T comparable] struct {
	first any // nil, or a listed[T]
}

type listed[T comparable] struct {
	value T
	rest  any
}

// ListOf makes a list.
func ListOf[T comparable](values ...T) List[T] {
	var first any
	for i := len(values) - 1; i >= 0; i-- {
		first = listed[T]{values[i], first}
	}
	return List[T]{first}
}

// Values are those of the list, in order; nil where it is empty.
func (l List[T]) Values() []T {
	var values []T
	for n, ok := l.first.(listed[T]); ok; n, ok = n.rest.(listed[T]) {
		values = append(values, n.value)
	}
	return values
}
