#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks for what no test has found yet: search.sh MINUTES PACKAGE...
#
# In turns, until the time is over: every property test with seeds of its own, and every fuzz target of the packages
# for a minute. It ends with the first finding, which says how to see it again; what is mended becomes a case.
set -euo pipefail
end=$((SECONDS + 60 * $1))
shift
GO=${GO:-go}
properties=$("$GO" list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | grep 'pgregory.net/rapid' | cut -d' ' -f1)
tests=$(grep -rl 'pgregory.net/rapid' --include='*_test.go' . | xargs sed -n 's/^func \(Test[^(]*\).*/\1/p' | paste -sd'|')

left() { echo $((end > SECONDS ? end - SECONDS : 1)); }

# until_end COMMAND...: its failure is that of the search, unless the time was over.
until_end() {
  timeout "$(left)s" "$@" && return
  local status=$?
  test "$status" -eq 124 || exit "$status"
}

while test "$SECONDS" -lt "$end"; do
  echo "=== $(left) s are left"
  until_end "$GO" test -count 1 -timeout 24h -run "^($tests)\$" $properties
  for package in "$@"; do
    for target in $("$GO" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
      test "$SECONDS" -lt "$end" || break 2
      GO=$GO until_end tools/fuzz.sh "$package" "$target" "$(($(left) < 60 ? $(left) : 60))s"
    done
  done
done
echo "search: nothing found"
