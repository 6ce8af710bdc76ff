// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// MaxBytes bounds the text of a policy: all of it is stored with each change.
const MaxBytes = 256 << 10

// Policy is an access policy.
type Policy struct {
	Contact string  // whom to ask for more rights; may be empty
	Grants  []Grant // in the order of the file

	// ApproveWithin is how long after a proposal another person may approve it. If it is zero, one
	// person may raise, refund, free and reconcile alone.
	ApproveWithin time.Duration

	Rules Rules // of the store

	Text   []byte   // as it was read
	Digest [32]byte // SHA-256 of Text

	Position uint64 // of the entry of the ledger system:access that has put it in force; 0 where none has yet

	persons map[string]string // names, by their principals
}

// At returns the policy as it was put in force by the entry at a position.
func (p *Policy) At(position uint64) *Policy {
	recorded := *p
	recorded.Position = position
	return &recorded
}

// Grant gives roles to callers, over ledgers.
type Grant struct {
	Line   int // in the file, from 1
	Roles  []Role
	To     []Pattern
	On     []Scope
	Holder string // to whom reservations under the grant belong; "" for each caller

	has set // Roles with those that they include
}

// String shows the grant as the file has it, on one line.
func (g *Grant) String() string {
	text := fmt.Sprintf("line %d: roles: %v, to: %v, on: %v", g.Line, g.Roles, g.To, g.On)
	if g.Holder != "" {
		text += ", holder: " + g.Holder
	}
	return text
}

// SyntaxError says what is wrong with a policy, and in which line.
type SyntaxError struct {
	Line int // 0 if it is of no single line
	Text string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "access policy: " + e.Text
	}
	return fmt.Sprintf("access policy, line %d: %s", e.Line, e.Text)
}

func wrong(n *yaml.Node, format string, args ...any) error {
	return &SyntaxError{n.Line, fmt.Sprintf(format, args...)}
}

// Parse reads a policy, which is YAML. Errors are *SyntaxError.
func Parse(text []byte) (*Policy, error) {
	if len(text) > MaxBytes {
		return nil, &SyntaxError{Text: fmt.Sprintf("it is too long; allowed: at most %d bytes", MaxBytes)}
	}
	var document, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, &SyntaxError{Text: "it is empty; allowed: at least version: 1 and grants"}
	} else if err != nil {
		return nil, &SyntaxError{Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if err := decoder.Decode(&second); err == nil {
		return nil, wrong(&second, "a second document; allowed: one")
	} else if !errors.Is(err, io.EOF) {
		return nil, &SyntaxError{Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	p := &Policy{Text: bytes.Clone(text), Digest: sha256.Sum256(text), persons: map[string]string{}}
	version := ""
	err := fields(document.Content[0], map[string]func(*yaml.Node) error{
		"version":    into(&version),
		"contact":    into(&p.Contact),
		"people":     p.readPeople,
		"grants":     p.readGrants,
		"two_people": p.readTwoPeople,
		"store":      p.readStore,
	})
	if err == nil && version != "1" {
		err = wrong(document.Content[0], "version: %q; allowed: 1", version)
	}
	if err == nil {
		err = p.checkPersons(document.Content[0])
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// fields reads a mapping: each key once, and only those that are known.
func fields(n *yaml.Node, known map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return wrong(n, "%s; allowed: fields, each with a name, a colon and a value", describe(n))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, ok := known[key.Value]
		if !ok || key.Kind != yaml.ScalarNode {
			return wrong(key, "%s is no field here; allowed: %s", describe(key), names(known))
		}
		if seen[key.Value] {
			return wrong(key, "%s is given twice; allowed: once", key.Value)
		}
		seen[key.Value] = true
		if err := read(value); err != nil {
			return err
		}
	}
	return nil
}

func names(known map[string]func(*yaml.Node) error) string {
	var list []string
	for name := range known {
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func describe(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return fmt.Sprintf("%.100q", n.Value)
	}
	return map[yaml.Kind]string{yaml.MappingNode: "fields", yaml.SequenceNode: "a list",
		yaml.AliasNode: "an alias (*NAME)"}[n.Kind]
}

// scalar returns a text. A number or a word such as yes is taken as it is spelled.
func scalar(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return "", wrong(n, "%s; allowed: a text", describe(n))
	}
	return n.Value, nil
}

func into(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) (err error) {
		*to, err = scalar(n)
		return err
	}
}

// list reads a list with at least one item; one item may also stand alone.
func list[T any](to *[]T, parse func(string) (T, error)) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		items := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			items = n.Content
		}
		if len(items) == 0 {
			return wrong(n, "an empty list; allowed: at least one item")
		}
		for _, item := range items {
			text, err := scalar(item)
			if err != nil {
				return err
			}
			v, err := parse(text)
			if err != nil {
				return wrong(item, "%v", err)
			}
			*to = append(*to, v)
		}
		return nil
	}
}

func (p *Policy) readGrants(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return wrong(n, "grants: %s; allowed: a list of grants, each beginning with a dash", describe(n))
	}
	for _, item := range n.Content {
		g := Grant{Line: item.Line}
		err := fields(item, map[string]func(*yaml.Node) error{
			"roles":  list(&g.Roles, parseRole),
			"to":     list(&g.To, parsePattern),
			"on":     list(&g.On, parseScope),
			"holder": into(&g.Holder),
		})
		if err == nil {
			err = g.check(item)
		}
		if err != nil {
			return err
		}
		for _, r := range g.Roles {
			g.has |= includes[r]
		}
		p.Grants = append(p.Grants, g)
	}
	return nil
}

// name is how holders and persons are named.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`) })

const nameAllowed = "a name of [a-z0-9._-] that begins with a letter or digit, at most 63 characters"

func (g *Grant) check(n *yaml.Node) error {
	for _, f := range []struct {
		name  string
		given int
	}{{"roles", len(g.Roles)}, {"to", len(g.To)}, {"on", len(g.On)}} {
		if f.given == 0 {
			return wrong(n, "the grant has no %s; allowed: roles, to and on, and perhaps holder", f.name)
		}
	}
	if g.Holder == "" {
		return nil
	}
	if !name().MatchString(g.Holder) {
		return wrong(n, "holder: %q; allowed: %s", g.Holder, nameAllowed)
	}
	if !slices.Contains(g.Roles, Reporter) {
		return wrong(n, "holder: %s in a grant without the role reporter; allowed: with it", g.Holder)
	}
	if i := slices.IndexFunc(g.To, func(to Pattern) bool { return !to.proven() }); i >= 0 {
		return wrong(n, "holder: %s in a grant to %s; allowed: only to callers whose identity is proven",
			g.Holder, g.To[i])
	}
	return nil
}

func parseRole(text string) (Role, error) {
	if i := slices.Index(roleNames[:], text); i >= 0 {
		return Role(i), nil
	}
	return 0, fmt.Errorf("role %q; allowed: %s", text, strings.Join(roleNames[:], ", "))
}

// readPeople reads which principals are the same person.
func (p *Policy) readPeople(n *yaml.Node) error {
	known := map[string]func(*yaml.Node) error{}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if !name().MatchString(key.Value) {
				return wrong(key, "person %s; allowed: %s", describe(key), nameAllowed)
			}
			known[key.Value] = func(of *yaml.Node) error { return p.readPerson(key.Value, of) }
		}
	}
	return fields(n, known)
}

func (p *Policy) readPerson(person string, n *yaml.Node) error {
	var principals []Pattern
	if err := list(&principals, parsePattern)(n); err != nil {
		return err
	}
	for _, of := range principals {
		text := string(of)
		if strings.Contains(text, "*") || strings.HasPrefix(text, groupScheme) ||
			strings.HasPrefix(text, personScheme) || !of.proven() {
			return wrong(n, "%s: %s; allowed: proven principals without stars", person, text)
		}
		if other, ok := p.persons[text]; ok {
			return wrong(n, "%s is a principal of %s and of %s; allowed: of one person", text, other, person)
		}
		p.persons[text] = person
	}
	return nil
}

// checkPersons compares the persons in grants with those that are listed.
func (p *Policy) checkPersons(n *yaml.Node) error {
	known := map[string]bool{}
	for _, person := range p.persons {
		known[person] = true
	}
	for _, g := range p.Grants {
		for _, to := range g.To {
			if person, ok := strings.CutPrefix(string(to), personScheme); ok && !known[person] {
				return &SyntaxError{g.Line, fmt.Sprintf("person:%s is not in people; allowed: one that is", person)}
			}
		}
	}
	return nil
}

func (p *Policy) readTwoPeople(n *yaml.Node) error {
	within := ""
	if err := fields(n, map[string]func(*yaml.Node) error{"within": into(&within)}); err != nil {
		return err
	}
	d, err := time.ParseDuration(within)
	if err != nil || d < time.Minute || d > 31*24*time.Hour || d%time.Second != 0 {
		return wrong(n, "two_people.within: %q; allowed: whole seconds from 1m to 744h, such as 72h", within)
	}
	p.ApproveWithin = d
	return nil
}
