// SPDX-License-Identifier: Apache-2.0

package endpoint

import "fmt"

// ConfigError says which setting is wrong, what it was and what is allowed.
type ConfigError struct{ Field, Value, Allowed string }

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s: %s; allowed: %s", e.Field, e.Value, e.Allowed)
}
