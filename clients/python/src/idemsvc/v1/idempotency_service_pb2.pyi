from idemsvc.v1 import acquire_pb2 as _acquire_pb2
from idemsvc.v1 import batch_pb2 as _batch_pb2
from idemsvc.v1 import check_version_pb2 as _check_version_pb2
from idemsvc.v1 import claim_pb2 as _claim_pb2
from idemsvc.v1 import completion_pb2 as _completion_pb2
from idemsvc.v1 import delivery_pb2 as _delivery_pb2
from idemsvc.v1 import effect_pb2 as _effect_pb2
from idemsvc.v1 import options_pb2 as _options_pb2
from idemsvc.v1 import receive_pb2 as _receive_pb2
from idemsvc.v1 import session_pb2 as _session_pb2
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor
