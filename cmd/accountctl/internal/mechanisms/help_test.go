// SPDX-License-Identifier: Apache-2.0

package mechanisms

import (
	"strings"
	"testing"

	"github.com/dpaccountant/accountant/internal/mechanism"
)

// Each parameter of each mechanism has a description, which says what the API says of it unless
// sharedHelp says it of all kinds, and none is left over.
func TestParameterHelpIsComplete(t *testing.T) {
	named := map[string]bool{}
	for _, k := range mechanism.Kinds() {
		for _, p := range k.Parameters {
			named[p.Name] = true
			text := parameterHelp(p.Name)
			if text == "" {
				t.Errorf("there is no description of %s of %s; the first sentence of its comment in the API's "+
					"mechanism.proto is one", p.Name, k.Name)
			}
			if sharedHelp[p.Name] == "" && !strings.Contains(text, firstSentence(p)) {
				t.Errorf("the description of %s, %q, does not say %q, as the API does of %s", p.Name, text,
					firstSentence(p), k.Name)
			}
		}
	}
	for name := range sharedHelp {
		if !named[name] {
			t.Errorf("sharedHelp has %s, which no mechanism has: remove it", name)
		}
	}
}
