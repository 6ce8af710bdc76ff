package mechanisms

import (
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Each parameter of each mechanism has a description, which is that of all kinds that have such
// a parameter, and none is left over.
func TestParameterHelpIsComplete(t *testing.T) {
	said := map[string]string{}
	for _, k := range mechanism.Kinds() {
		for _, p := range k.Parameters {
			text, seen := said[p.Name]
			if seen && text != firstSentence(p) && p.Role != mechanism.RoleInside && sharedHelp[p.Name] == "" {
				t.Errorf("sharedHelp lacks %s: the API describes it as %q and, of %s, as %q", p.Name, text,
					k.Name, firstSentence(p))
			}
			said[p.Name] = firstSentence(p)
			if parameterHelp(p.Name) == "" {
				t.Errorf("there is no description of %s of %s", p.Name, k.Name)
			}
		}
	}
	for name := range sharedHelp {
		if said[name] == "" {
			t.Errorf("sharedHelp has %s, which no mechanism has", name)
		}
	}
}
