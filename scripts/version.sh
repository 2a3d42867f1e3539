#!/usr/bin/env bash
# Prints the version of the source, as Go numbers versions: 1.2.3 at the tag v1.2.3, after it
# 1.2.4-0.TIME-COMMIT, before any tag 0.0.0-TIME-COMMIT, each with +dirty where files differ
# from the commit. With --date: the commit's time in seconds since 1970. Source that is not
# under git has no version: 0.0.0-unversioned, of 1970.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git() { command git -c safe.directory='*' "$@" 2>/dev/null; }

if [ "$(git rev-parse --show-toplevel || true)" != "$(pwd -P)" ] || ! git rev-parse -q --verify HEAD >/dev/null; then
	[ "${1:-}" = --date ] && echo 0 || echo 0.0.0-unversioned
	exit 0
fi
if [ "${1:-}" = --date ]; then
	git log -1 --format=%ct
	exit 0
fi

dirty=""
[ -z "$(git status --porcelain --untracked-files=no)" ] || dirty=+dirty
commit=$(TZ=UTC git log -1 --abbrev=12 --date=format-local:%Y%m%d%H%M%S --format=%cd-%h)
tag=$(git describe --tags --abbrev=0 --match 'v[0-9]*.[0-9]*.[0-9]*' || true)
if [ -z "$tag" ]; then
	echo "0.0.0-$commit$dirty"
elif [ -z "$dirty" ] && [ "$(git rev-parse "$tag^{commit}")" = "$(git rev-parse HEAD)" ]; then
	echo "${tag#v}"
else
	base=${tag#v}
	echo "${base%.*}.$((${base##*.} + 1))-0.$commit$dirty"
fi
