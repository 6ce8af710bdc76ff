// SPDX-License-Identifier: Apache-2.0

package mechanisms

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/dpaccountant/accountant/cmd/accountctl/internal/cli"
	"github.com/dpaccountant/accountant/examples"
	accountantv1 "github.com/dpaccountant/accountant/gen/accountant/v1"
	"github.com/dpaccountant/accountant/internal/spelling"
	"github.com/dpaccountant/accountant/internal/wire"
	"github.com/dpaccountant/accountant/internal/wire/wirejson"
)

// Line writes an event as a command takes it, such as "laplace --scale 20 --sensitivity 1
// --count 20". It is "" where flags cannot describe the event.
func Line(e *accountantv1.Event) string {
	m := e.GetMechanism()
	var around protoreflect.Message
	if s := m.GetPoissonSampled(); s != nil {
		m, around = s.GetMechanism(), s.ProtoReflect()
	}
	kind := m.ProtoReflect().WhichOneof(m.ProtoReflect().Descriptor().Oneofs().ByName("kind"))
	if kind == nil || !described(kind) {
		return ""
	}
	words := append([]string{spell(kind)}, flagsOf(m.ProtoReflect().Get(kind).Message())...)
	if holdsNoise(kind) {
		inside := m.GetRandomAllocation().GetMechanism().ProtoReflect()
		noise := inside.WhichOneof(inside.Descriptor().Oneofs().ByName("kind"))
		if around != nil || !slices.Contains(noiseKinds(), noise) {
			return ""
		}
		words = append(words, flagsOf(inside.Get(noise).Message())...)
	}
	if around != nil {
		words = append(words, flagsOf(around)...)
	}
	if n := e.GetCount(); n > 1 {
		words = append(words, fmt.Sprintf("--%s %d", count, n))
	}
	return strings.Join(words, " ")
}

// flagsOf writes a message's numbers and words as flags.
func flagsOf(m protoreflect.Message) []string {
	var out []string
	for i, fields := 0, m.Descriptor().Fields(); i < fields.Len(); i++ {
		p := fields.Get(i)
		if !m.Has(p) || p.Message() != nil {
			continue
		}
		flag, v := "--"+spelling.Dashed(string(p.Name())), m.Get(p)
		switch {
		case p.IsList():
			var parts []string
			for i := range v.List().Len() {
				parts = append(parts, spelling.Exact(v.List().Get(i).Float()))
			}
			flag += " " + strings.Join(parts, ",")
		case p.Kind() == protoreflect.DoubleKind:
			flag += " " + spelling.Exact(v.Float())
		case p.Kind() == protoreflect.EnumKind:
			flag += " " + strings.ToLower(spelling.Dashed(string(p.Enum().Values().ByNumber(v.Enum()).Name())))
		case p.Kind() != protoreflect.BoolKind:
			flag += " " + v.String()
		}
		out = append(out, flag)
	}
	return out
}

// Example is a line of the named mechanism that works, and the adjacency that it is for.
// The mechanism may be misspelt or missing: then it is that of another one.
func Example(name string) (line string, adjacency accountantv1.Workload_Adjacency) {
	kind, ok := kindNamed(name)
	if !ok {
		kind = kindOf("dp_sgd")
	}
	data, err := examples.Mechanisms.ReadFile("mechanisms/" + string(kind.Name()) + ".json")
	w := &accountantv1.Workload{}
	if err == nil {
		err = wirejson.Unmarshal(data, w)
	}
	if err != nil || len(w.GetEvents()) == 0 {
		return "", 0
	}
	return Line(w.GetEvents()[0]), w.GetAdjacency()
}

// Explain says what is wrong with events that the flags describe in the words of the flags,
// with a line that works. Other errors it returns as they are.
func (f *Flags) Explain(err error, line string) error {
	var invalid *wire.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	name := parameterAt(invalid.Field)
	what := ": " + inFlags(strings.Replace(invalid.Value, "missing or 0", "0", 1))
	if isParameter(name) && !f.has(name) {
		what = " is missing"
		if other := needs[name]; f.has(other) {
			what += ": " + flagOf(other) + " needs it"
		}
	}
	return cli.Wrong(flagOf(name) + what + "; allowed: " + inFlags(invalid.Allowed) + "; such as: " + line)
}

// needs are parameters that belong together: each needs the other.
var needs = map[string]string{"batch_size": "dataset_size", "dataset_size": "batch_size"}

// has reports whether the parameter was given for any mechanism.
func (f *Flags) has(name string) bool {
	return slices.ContainsFunc(f.given, func(g given) bool { return g.name == name })
}

// parameterAt is the last name of a path in the API, such as
// "events[0].mechanism.gaussian.sensitivity".
func parameterAt(path string) string {
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[") // of a list
	return name
}

// flagOf is the flag of a parameter; other names it only spells as flags are.
func flagOf(name string) string {
	if isParameter(name) || name == count {
		return "--" + spelling.Dashed(name)
	}
	if name == "mechanism" {
		return "Poisson sampling" // nothing else that flags describe has a mechanism inside
	}
	return spelling.Dashed(name)
}

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\w+`) })

// inFlags writes the API's names of parameters, kinds and adjacencies in a text as the command
// line does. A name without _ may be a word of the language, so it is taken for a parameter in an
// enumeration only.
func inFlags(text string) string {
	enumeration := strings.Contains(text, "one of") || strings.Contains(text, "together with")
	return word().ReplaceAllStringFunc(text, func(name string) string {
		switch {
		case isParameter(name) && (enumeration || strings.Contains(name, "_")):
			return "--" + spelling.Dashed(name)
		case kindOf(protoreflect.Name(name)) != nil:
			return spelling.Dashed(name)
		case accountantv1.Workload_Adjacency_value[name] > 0:
			return strings.ToLower(spelling.Dashed(name))
		}
		return name
	})
}
