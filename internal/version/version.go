// Package version names the build.
package version

import "runtime/debug"

// String returns the module version that the Go tool stamped into the binary,
// such as "v0.1.0" or a pseudo-version of the commit; "unknown" without one.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
