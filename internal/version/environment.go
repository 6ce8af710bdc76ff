package version

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Prefix begins the names of the environment variables that these programs read.
const Prefix = "ACCOUNTANT_"

// variables are all of them, without their prefix: those of the daemon, of accountctl
// and of the Python package, as one environment may be for all.
var variables = []string{
	"ANALYSES", "DATA", "GRACE_PERIOD", "HTTP", "INIT", "INSECURE", "LEDGER", "LISTEN", "LOG_FORMAT",
	"LOG_LEVEL", "METRICS_LEDGERS",
	"PPROF", "QUESTION_TIME", "SCRUB_INTERVAL", "SCRUB_RATE", "SERVER", "SOCKET_MODE", "SOCKET_OWNER",
	"TLS_CA", "TLS_CERT", "TLS_CLIENT_CA", "TLS_KEY", "TLS_SERVER_NAME",
}

// ofKubernetes are the variables that Kubernetes sets in every pod for a service called
// accountant, or accountant-anything.
var ofKubernetes = regexp.MustCompile(
	`^([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// Misspelt is a warning about each variable in env ("NAME=value") that begins like ours
// and that nothing reads, with the nearest one that is read.
func Misspelt(env []string) (warnings []string) {
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		rest, ours := strings.CutPrefix(name, Prefix)
		if !ours || slices.Contains(variables, rest) || ofKubernetes.MatchString(rest) {
			continue
		}
		nearest := slices.MinFunc(variables, func(a, b string) int { return distance(rest, a) - distance(rest, b) })
		warnings = append(warnings,
			fmt.Sprintf("environment variable %.100q is not read by anything; the nearest that is: %s%s",
				name, Prefix, nearest))
	}
	slices.Sort(warnings)
	return warnings
}

// distance is how many letters have to be added, taken away or replaced to make b of a
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
