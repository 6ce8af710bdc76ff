// SPDX-License-Identifier: Apache-2.0

package endpoint

import "runtime"

// hasModes is set where files have modes, and directories can be synced.
const hasModes = runtime.GOOS != "windows"
