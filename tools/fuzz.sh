#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes one target: fuzz.sh PACKAGE TARGET TIME.
#
# Up to Go 1.26 the fuzzer sometimes takes its own end for a failure on a machine that is busy, and says
# "context deadline exceeded" about a target for which it has found nothing (go.dev/issue/75804). Only a failure
# that has exactly this as its one line is passed over. What was found has the test's own lines in its place.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "fuzz $1 $2"
"${GO:-go}" test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" 2>&1 | tee "$log" && exit 0
test "$(grep -A 2 "^--- FAIL: $2 " "$log" | sed 1d)" = $'    context deadline exceeded\nFAIL' &&
  ! grep -q 'Failing input written' "$log" &&
  echo "fuzz $1 $2: its time was over and nothing was found (go.dev/issue/75804)"
