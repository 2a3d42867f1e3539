#!/usr/bin/env bash
# Prints the data directory for «make run»: data/, unless root runs it in a folder that the
# user who then runs PostgreSQL may not enter, such as one below /root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ -z "${IDEMSVC_DATA_DIR:-}" ] && [ "$(id -u)" -eq 0 ]; then
	parent=$(pwd -P)
	while [ "$parent" != / ]; do
		if [ $((0$(stat -c %a "$parent" 2>/dev/null || stat -f %Lp "$parent") & 1)) -eq 0 ]; then
			dir=/var/lib/idemsvc/$(pwd -P | cksum | cut -d ' ' -f 1)
			echo "PostgreSQL does not run as root, and other users may not enter $parent: its data is in $dir" >&2
			echo "$dir"
			exit 0
		fi
		parent=$(dirname "$parent")
	done
fi
echo "${IDEMSVC_DATA_DIR:-data}"
