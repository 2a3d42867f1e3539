#!/usr/bin/env bash
# One entry for everything about the contract in api/proto:
#
#   deps       copy the imported protos into build/proto-deps
#   lint       buf lint (STANDARD and COMMENTS) and the formatting check
#   generate   rewrite the committed Go code beside the protos, and the handlers and the document of JSON over HTTP
#   breaking   WIRE_JSON check against the committed image
#   image      rewrite the committed image; refuses a breaking change unless ALLOW_BREAKING=1
#   drift      fail when the committed Go code or image differs from what the protos give
#
# Tools are pinned in tools/go.mod (buf) and tools/proto/go.mod (plugins, validate.proto).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

contract=api/proto
image=api/proto/idemsvc-v1.binpb
gateway=api/gateway

buf() { go tool -modfile=tools/go.mod buf "$@"; }
buf_generate() {
  buf generate "$contract" "$@"
  buf generate --template buf.gen.gateway.yaml "$@" # its inputs leave out the rules of buf/validate
}
build_image() { buf build "$contract" --exclude-source-info -o "$1"; }

command=${1:-}
case "$command" in
deps | lint | generate | breaking | image | drift) scripts/proto-deps.sh ;;
*)
  sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac

case "$command" in
lint)
  buf lint "$contract"
  buf format "$contract" --diff --exit-code
  ;;
generate)
  buf_generate
  ;;
breaking)
  buf breaking "$contract" --against "$image"
  ;;
image)
  if [[ -f $image && ${ALLOW_BREAKING:-0} != 1 ]]; then
    buf breaking "$contract" --against "$image"
  fi
  build_image "$image"
  ;;
drift)
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  buf_generate -o "$work"
  if ! diff -ru --exclude='*.proto' --exclude='*.binpb' "$contract" "$work/$contract" ||
    ! diff -ru --exclude=gateway.go --exclude=http.yaml --exclude=openapi.yaml "$gateway" "$work/$gateway"; then
    echo "generated code is out of date: run scripts/proto.sh generate" >&2
    exit 1
  fi
  build_image "$work/image.binpb"
  if ! cmp -s "$work/image.binpb" "$image"; then
    echo "$image is out of date: run scripts/proto.sh image" >&2
    exit 1
  fi
  ;;
esac
