// SPDX-License-Identifier: Apache-2.0

package endpoint

import "runtime"

// HasModes is set where files have modes, and directories can be synced.
const HasModes = runtime.GOOS != "windows"
