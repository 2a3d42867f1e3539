#!/usr/bin/env bash
# The clients in other languages than Go: python, typescript and java.
#
#   build [LANGUAGE...]   install and compile them in build/clients, as their READMEs say; quick when nothing has changed
#   generate              rewrite their stubs from api/proto
#   drift                 fail when their committed stubs differ from what the protos give
#
# What they depend on is pinned by hash beside them; the generators are pinned in tools/stubs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stubs=(clients/python/src/idemsvc/v1 clients/typescript/src/idemsvc/v1 clients/java/src/main/java/io/github/idemsvc/v1)
mkdir -p build/clients
made=$(cd build/clients && pwd -P)

sha256() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# lacks PROGRAM... tells which program is missing, and fails when none is.
lacks() {
	local program
	for program; do
		command -v "$program" >/dev/null || { echo "$program is missing"; return; }
	done
	return 1
}

need() { ! lacks "$@" >&2 || exit 1; }

# digest PATH... tells the state of files, and of this script.
digest() { find "$@" scripts/clients.sh -type f -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256; }

# fresh FOLDER STATE tells whether a folder was made from that state, and makes it empty otherwise.
fresh() {
	[ "$(cat "$1/.made-from" 2>/dev/null || true)" = "$2" ] && return
	rm -rf "$1"
	mkdir -p "$1"
	return 1
}

build_python() {
	need python3
	local out=$made/python from=clients/python state
	state="$(python3 --version) $(digest $from/requirements.txt $from/pyproject.toml $from/src)"
	fresh "$out" "$state" && return
	python3 -m venv "$out"
	"$out/bin/python" -m pip install --quiet --require-hashes --requirement $from/requirements.txt
	"$out/bin/python" -m pip install --quiet --no-deps --no-build-isolation ./$from
	echo "$state" >"$out/.made-from"
}

build_typescript() {
	need node npm
	local out=$made/typescript from=clients/typescript state files
	files=($from/package.json $from/package-lock.json $from/tsconfig.json $from/src $from/examples)
	state="$(node --version) $(digest "${files[@]}")"
	fresh "$out" "$state" && return
	cp -R "${files[@]}" "$out"
	(cd "$out" && npm ci --silent --prefer-offline --ignore-scripts && npm run --silent build)
	echo "$state" >"$out/.made-from"
}

build_java() {
	need java javac mvn
	local out=$made/java from=clients/java state files
	files=($from/pom.xml $from/dependencies.sha256 $from/src $from/examples)
	state="$(java -version 2>&1) $(digest "${files[@]}")"
	fresh "$out" "$state" && return
	cp -R "${files[@]}" "$out"
	(cd "$out" && mvn --batch-mode --quiet test-compile)
	(cd "$out/target/lib" && sha256 --check --quiet ../../dependencies.sha256)
	echo "$state" >"$out/.made-from"
}

# obstacle tells why stubs cannot be generated here, and fails when they can.
obstacle() {
	[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || { echo "the generators are pinned for Linux on x86-64 only"; return; }
	lacks python3 node npm java mvn
}

# generators installs what buf.gen.clients.yaml names.
generators() {
	scripts/proto-deps.sh
	local out=$made/stubs from=tools/stubs state
	state="$(python3 --version) $(node --version) $(digest $from)"
	fresh "$out" "$state" && return
	python3 -m venv "$out/python"
	"$out/python/bin/python" -m pip install --quiet --require-hashes --requirement $from/requirements.txt
	cp $from/package.json $from/package-lock.json "$out"
	(cd "$out" && npm ci --silent --prefer-offline --ignore-scripts)
	mvn --batch-mode --quiet --file $from/pom.xml -Dtarget="$out/java" process-resources
	cp $from/protoc.sha256 "$out/java"
	(cd "$out/java" && sha256 --check --quiet protoc.sha256 && chmod +x protoc protoc-gen-grpc-java)
	echo "$state" >"$out/.made-from"
}

# generate FOLDER writes all stubs below a folder.
generate() { go tool -modfile=tools/go.mod buf generate --template buf.gen.clients.yaml -o "$1"; }

case "${1:-}" in
build)
	shift
	[ $# -gt 0 ] || set -- python typescript java
	for language; do
		case "$language" in
		python | typescript | java) "build_$language" ;;
		*) echo "clients: there is no $language here: use python, typescript or java" >&2; exit 2 ;;
		esac
	done
	;;
generate)
	! obstacle >&2 || exit 1
	generators
	rm -rf "${stubs[@]}"
	generate .
	;;
drift)
	if obstacle >&2; then
		[ "${CI:-}" != true ] || exit 1
		echo "clients: the stubs for other languages are not checked here; CI checks them" >&2
		exit 0
	fi
	generators
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	generate "$work"
	for folder in "${stubs[@]}"; do
		if ! diff -rq "$folder" "$work/$folder"; then
			echo "generated code is out of date: run scripts/clients.sh generate" >&2
			exit 1
		fi
	done
	;;
*)
	sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
