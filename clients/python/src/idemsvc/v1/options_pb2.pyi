from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_CONSUMER: _ClassVar[Role]
    ROLE_READER: _ClassVar[Role]
    ROLE_OPERATOR: _ClassVar[Role]
    ROLE_ADMIN: _ClassVar[Role]
    ROLE_ANY: _ClassVar[Role]
ROLE_UNSPECIFIED: Role
ROLE_CONSUMER: Role
ROLE_READER: Role
ROLE_OPERATOR: Role
ROLE_ADMIN: Role
ROLE_ANY: Role
REQUIRED_ROLE_FIELD_NUMBER: _ClassVar[int]
required_role: _descriptor.FieldDescriptor
GRPC_CODE_FIELD_NUMBER: _ClassVar[int]
grpc_code: _descriptor.FieldDescriptor
REPEATABLE_FIELD_NUMBER: _ClassVar[int]
repeatable: _descriptor.FieldDescriptor
