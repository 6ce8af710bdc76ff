// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"
	"strings"
)

// proposers counts the proposals that were ever made. A value never changes: And returns the next. The zero
// value is that of a ledger without proposals.
type proposers struct {
	All    int
	people []proposer // by name
}

type proposer struct {
	person string
	made   int // at least 1
}

// find returns where a person is, or would be, among the people.
func (c proposers) find(person string) (int, bool) {
	return slices.BinarySearchFunc(c.people, person, func(p proposer, name string) int {
		return strings.Compare(p.person, name)
	})
}

// by returns how many proposals a person has made.
func (c proposers) by(person string) int {
	if i, found := c.find(person); found {
		return c.people[i].made
	}
	return 0
}

// and returns c with a further proposal of a person.
func (c proposers) and(person string) proposers {
	i, found := c.find(person)
	people := slices.Clone(c.people)
	if !found {
		people = slices.Insert(people, i, proposer{person: person})
	}
	people[i].made++
	return proposers{c.All + 1, people}
}
