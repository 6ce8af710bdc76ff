// SPDX-License-Identifier: Apache-2.0

package spelling

import "testing"

func TestIdentifier(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"survey-2026": "survey-2026",
		"größe":       `größe ("gr\u00f6\u00dfe")`,
		"ѕurvey":      `ѕurvey ("\u0455urvey")`, // a Cyrillic letter
	} {
		if got := Identifier(id); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}
