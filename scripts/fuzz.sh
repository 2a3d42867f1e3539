#!/usr/bin/env bash
# Runs each fuzz test for a while: FUZZ_TIME each, 30s by default. What is found stays
# in the package's testdata/fuzz, and is tried by every run of the tests from then on.
# FUZZ_KEEP=1 adds what the fuzzer found interesting to the corpora there, the smallest
# ones, at most 60 of each.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

time=${FUZZ_TIME:-30s}
keep=60
module=$(go list -m)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

while read -r pkg name; do
	echo "fuzz: $name in $pkg for $time" >&2
	if ! go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$pkg" 2>&1 | tee "$log" >&2; then
		# On a busy machine the end of the time itself is reported as a failure.
		if grep -q 'Failing input written' "$log" || ! grep -q '^ *context deadline exceeded$' "$log"; then
			exit 1
		fi
	fi
	if [ "${FUZZ_KEEP:-}" = 1 ]; then
		cache=$(go env GOCACHE)/fuzz/$pkg/$name
		corpus=${pkg#"$module"/}/testdata/fuzz/$name
		mkdir -p "$corpus"
		if [ -d "$cache" ]; then
			find "$cache" -type f -printf '%s %p\n' | sort -n | head -n "$keep" | while read -r _ file; do cp "$file" "$corpus/"; done
		fi
	fi
done < <(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r dir; do
	go test -list '^Fuzz' "$dir" | awk -v pkg="$(go list "$dir")" '/^Fuzz/ { print pkg, $1 }'
done)
