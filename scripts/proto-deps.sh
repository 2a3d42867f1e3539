#!/usr/bin/env bash
# Copies buf/validate/validate.proto out of the Go module pinned in tools/proto/go.mod into
# build/proto-deps (git-ignored), where buf.yaml looks for it. Repeating it is harmless.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=github.com/bufbuild/protovalidate
go mod download -modfile=tools/proto/go.mod "$module"
source_dir=$(go list -modfile=tools/proto/go.mod -m -f '{{.Dir}}' "$module")
target=build/proto-deps/buf/validate/validate.proto

mkdir -p "$(dirname "$target")"
if ! cmp -s "$source_dir/proto/protovalidate/buf/validate/validate.proto" "$target"; then
  install -m 0644 "$source_dir/proto/protovalidate/buf/validate/validate.proto" "$target.new.$$"
  mv "$target.new.$$" "$target"
fi
