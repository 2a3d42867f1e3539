"""A protoc plugin that writes Python messages, their types and their services.

grpcio-tools has all three generators, but only inside a protoc of its own. This hands
them the request that the caller of the plugin made.
"""

import pathlib
import sys
import tempfile

from google.protobuf import descriptor_pb2
from google.protobuf.compiler import plugin_pb2
from grpc_tools import protoc

request = plugin_pb2.CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
serving = {f.name for f in request.proto_file if f.service}
response = plugin_pb2.CodeGeneratorResponse(
    supported_features=plugin_pb2.CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL
)

with tempfile.TemporaryDirectory() as work:
    image = pathlib.Path(work, "image.binpb")
    image.write_bytes(descriptor_pb2.FileDescriptorSet(file=request.proto_file).SerializeToString())
    out = pathlib.Path(work, "out")
    out.mkdir()
    outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
    if protoc.main(["protoc", f"--descriptor_set_in={image}", *outputs, *request.file_to_generate]):
        sys.exit(1)
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        name = path.relative_to(out).as_posix()
        proto, grpc, _ = name.partition("_pb2_grpc.py")
        if grpc and f"{proto}.proto" not in serving:
            continue  # holds nothing but a version check
        response.file.add(name=name, content=path.read_text(encoding="utf-8"))

sys.stdout.buffer.write(response.SerializeToString())
