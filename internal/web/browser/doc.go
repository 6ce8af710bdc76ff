// SPDX-License-Identifier: Apache-2.0

// Package browser tests the dashboard as people use it: in a real browser, against a real daemon, with the
// numbers that accountctl prints beside those on the pages. It has tests only.
//
// They need Chromium, and are skipped where it is missing, unless NEEDS_BROWSER=1.
// "go test ./internal/web/browser -update" writes the screenshots in testdata anew; then look at them.
package browser
