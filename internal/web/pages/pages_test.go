// SPDX-License-Identifier: Apache-2.0

package pages

import "testing"

// Every template is parsed, and names only what there is.
func TestTemplates(t *testing.T) { New(nil) }
