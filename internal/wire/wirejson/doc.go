// SPDX-License-Identifier: Apache-2.0

// Package wirejson reads and writes the API's messages as JSON, for files and for the output of
// commands. Unmarshal is strict, and its errors name line and column. Marshal always
// writes the same bytes for the same message.
package wirejson
