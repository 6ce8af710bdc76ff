package mechanisms

import (
	"slices"
	"testing"
)

// Each parameter of each mechanism has a description, and none is left over.
func TestParameterHelpIsComplete(t *testing.T) {
	var names []string
	for _, kind := range kindFields() {
		for _, f := range parameters(kind) {
			names = append(names, string(f.Name()))
			if parameterHelp[string(f.Name())] == "" {
				t.Errorf("parameterHelp lacks %s of %s", f.Name(), kind.Name())
			}
		}
	}
	for name := range parameterHelp {
		if !slices.Contains(names, name) {
			t.Errorf("parameterHelp has %s, which no mechanism has", name)
		}
	}
}
