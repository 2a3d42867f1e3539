#!/usr/bin/env bash
# Brings promtool and prometheus for the tests of alerts, and prints their folder. What is
# installed is used. Otherwise the programs are taken out of Debian's or Ubuntu's package,
# whose signature apt checks, into build/: no root is needed, nothing is installed and
# nothing is started.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/build/prometheus

complete() { [ -x "$1/promtool" ] && [ -x "$1/prometheus" ]; }

if [ -n "${IDEMSVC_TEST_PROMETHEUS:-}" ]; then
	complete "$IDEMSVC_TEST_PROMETHEUS" || {
		echo "prometheus: IDEMSVC_TEST_PROMETHEUS=$IDEMSVC_TEST_PROMETHEUS holds no promtool and prometheus" >&2
		exit 1
	}
	echo "$IDEMSVC_TEST_PROMETHEUS"
	exit 0
fi
if command -v promtool >/dev/null && command -v prometheus >/dev/null; then
	dirname "$(command -v promtool)"
	exit 0
fi
if ! complete "$dir/usr/bin"; then
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || {
		echo "prometheus: install promtool and prometheus (brew install prometheus), or set IDEMSVC_TEST_PROMETHEUS to the folder of both, or to «off»" >&2
		exit 1
	}
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	cd "$tmp"
	# As root, apt would drop its rights and may then not write here.
	fetch() { apt-get -q -o APT::Sandbox::User=root download prometheus >&2; }
	if ! fetch 2>/dev/null; then
		[ "$(id -u)" -ne 0 ] || apt-get update -q >&2
		fetch || {
			echo "prometheus: no package; run «sudo apt-get update», or set IDEMSVC_TEST_PROMETHEUS to the folder of promtool and prometheus, or to «off»" >&2
			exit 1
		}
	fi
	dpkg-deb -x prometheus_*.deb "$tmp/all"
	"$tmp/all/usr/bin/promtool" --version >/dev/null
	mkdir -p "$dir/usr/bin"
	cp "$tmp/all/usr/bin/promtool" "$tmp/all/usr/bin/prometheus" "$dir/usr/bin/"
	cp "$tmp/all/usr/share/doc/prometheus/copyright" "$dir/"
fi
echo "$dir/usr/bin"
