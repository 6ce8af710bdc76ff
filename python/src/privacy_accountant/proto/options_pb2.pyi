from google.protobuf import descriptor_pb2 as _descriptor_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

ACCESS_FIELD_NUMBER: _ClassVar[int]
DESCRIPTOR: _descriptor.FileDescriptor
access: _descriptor.FieldDescriptor

class Access(_message.Message):
    __slots__ = ["own_socket", "people", "role", "scope", "viewers_check"]
    class People(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    class Scope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = []
    ADMINISTRATOR: Access.Role
    AUDITOR: Access.Role
    EVERYTHING: Access.Scope
    LEDGERS: Access.Scope
    LEDGERS_OR_WORKLOAD: Access.Scope
    MANAGER: Access.Role
    NEW_LEDGER: Access.Scope
    OFFICER: Access.Role
    ONESELF: Access.Scope
    ONE_OF_TWO: Access.People
    OWN_SOCKET_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_FIELD_NUMBER: _ClassVar[int]
    PEOPLE_UNSPECIFIED: Access.People
    REPORTER: Access.Role
    ROLE_FIELD_NUMBER: _ClassVar[int]
    ROLE_UNSPECIFIED: Access.Role
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_UNSPECIFIED: Access.Scope
    SHOWN: Access.Scope
    TWO: Access.People
    TWO_FOR_BUDGETS: Access.People
    VIEWER: Access.Role
    VIEWERS_CHECK_FIELD_NUMBER: _ClassVar[int]
    own_socket: bool
    people: Access.People
    role: Access.Role
    scope: Access.Scope
    viewers_check: bool
    def __init__(self, role: _Optional[_Union[Access.Role, str]] = ..., scope: _Optional[_Union[Access.Scope, str]] = ..., people: _Optional[_Union[Access.People, str]] = ..., own_socket: bool = ..., viewers_check: bool = ...) -> None: ...
