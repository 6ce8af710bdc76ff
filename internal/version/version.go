// Package version names the build.
package version

import (
	"cmp"
	"runtime/debug"
)

// A release's build sets these (tools/release); elsewhere they are empty.
var release, commit, date string

// String returns the version: that of the release, or without one the module version that the Go
// tool stamped into the binary, such as a pseudo-version of the commit; "unknown" without either.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return cmp.Or(release, info.Main.Version, "unknown")
}

// Commit returns the commit that the program was built from and the time of that commit, in
// RFC 3339; both are empty where the build recorded none.
func Commit() (hash, time string) {
	if commit != "" {
		return commit, date
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			hash = s.Value
		case "vcs.time":
			time = s.Value
		}
	}
	return hash, time
}
