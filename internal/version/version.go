// SPDX-License-Identifier: Apache-2.0

// Package version names the build.
package version

import (
	"runtime/debug"
	"strings"
)

// number is the version of the sources, which the Python package's _version.py has, too: a test compares them.
const number = "1.0.0"

// A release's build sets these (tools/release); elsewhere they are empty.
var release, commit, date string

// String returns the version: "v1.0.0" of a release or of a module that was installed by its tag, and "v1.0.0-dev" of
// what was built from a clone.
func String() string {
	if release != "" {
		return release
	}
	// Of a clone the Go tool makes "v0.0.0-" with a time and a commit, or "(devel)".
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v"+number) {
		return info.Main.Version
	}
	return "v" + number + "-dev"
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
