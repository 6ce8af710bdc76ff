from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Answered(_message.Message):
    __slots__ = ["code", "error", "response"]
    CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    code: int
    error: str
    response: bytes
    def __init__(self, code: _Optional[int] = ..., error: _Optional[str] = ..., response: _Optional[bytes] = ...) -> None: ...

class Asked(_message.Message):
    __slots__ = ["method", "request", "seconds"]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    SECONDS_FIELD_NUMBER: _ClassVar[int]
    method: str
    request: bytes
    seconds: float
    def __init__(self, method: _Optional[str] = ..., request: _Optional[bytes] = ..., seconds: _Optional[float] = ...) -> None: ...
