// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Prefix begins the names of the environment variables that these programs read.
const Prefix = "ACCOUNTANT_"

// variables are all of them, without their prefix: those of the daemon, of accountctl
// and of the Python package, as one environment may be for all.
var variables = []string{
	"ACCESS_POLICY", "ANALYSES", "ARCHIVE", "ARCHIVE_INTERVAL", "ARCHIVE_KEY", "COLD", "COLD_AFTER", "COLD_KEY",
	"CONTEXT", "DASHBOARD", "DATA", "FAIR_CALLS",
	"FAIR_COMPUTING", "GRACE_PERIOD", "HTTP", "HTTP_CONNECTIONS", "INIT", "INSECURE", "LEDGER", "LISTEN",
	"LOGIN_CLIENT", "LOGIN_ISSUER", "LOGIN_KEY_FILE", "LOGIN_SECRET_FILE", "LOG_FORMAT", "LOG_LEVEL",
	"METRICS_LEDGERS", "PPROF", "PUBLIC_URL", "QUESTION_TIME", "REQUIRE_DATASET", "REQUIRE_STANDBY",
	"SCRUB_INTERVAL", "SCRUB_RATE", "SERVER", "SIGNING_KEY", "SOCKET_MODE", "SOCKET_OWNER", "STORE",
	"STORE_PASSWORD_FILE", "TLS_CA", "TLS_CERT", "TLS_CLIENT_CA", "TLS_KEY", "TLS_SERVER_NAME", "TOKEN",
	"TOKEN_AUDIENCE", "TOKEN_CA", "TOKEN_CLAIM", "TOKEN_FILE", "TOKEN_GROUPS", "TOKEN_ISSUER", "TOKEN_KEYS",
	"WEBHOOK", "WEBHOOK_SECRET_FILE",
}

// ofKubernetes are the variables that Kubernetes sets in every pod for a service called
// accountant, or accountant-anything.
var ofKubernetes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)
})

// Misspelt returns a warning about each variable in env ("NAME=value") that begins like ours
// and that nothing reads, with the one that is probably meant, if there is one.
func Misspelt(env []string) (warnings []string) {
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		rest, ours := strings.CutPrefix(name, Prefix)
		if !ours || slices.Contains(variables, rest) || ofKubernetes().MatchString(rest) {
			continue
		}
		warning := fmt.Sprintf("environment variable %.100q is not read by anything", name)
		if meant := meant(rest); len(meant) > 0 {
			warning += "; did you mean " + Prefix + strings.Join(meant, " or "+Prefix) + "?"
		} else {
			warning += `; "accountantd --help" and "accountctl --help" say what is`
		}
		warnings = append(warnings, warning)
	}
	slices.Sort(warnings)
	return warnings
}

// meant returns the variables that a name is probably meant to be: those that differ from it
// in the fewest letters, but at most in a third of them, where one that begins with another
// word counts as one letter further away; otherwise those that the name continues by whole
// words, or that continue it.
func meant(name string) (list []string) {
	best := len(name)/3 + 1
	for _, v := range variables {
		d := distance(name, v)
		if d > max(1, len(name)/3) {
			continue
		}
		if firstWord(v) != firstWord(name) {
			d++
		}
		if d < best || list == nil {
			best, list = d, nil
		}
		if d == best {
			list = append(list, v)
		}
	}
	if list != nil {
		return list
	}
	for _, v := range variables {
		if strings.HasPrefix(name, v+"_") || strings.HasPrefix(v, name+"_") {
			list = append(list, v)
		}
	}
	return list
}

func firstWord(name string) string {
	word, _, _ := strings.Cut(name, "_")
	return word
}

// distance returns how many letters have to be added, taken away, replaced or swapped with
// their neighbours to make b of a (the optimal string alignment distance).
func distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			replaced := row[j]
			if a[i] != b[j] {
				replaced++
			}
			next[j+1] = min(replaced, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
