from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BackupRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class BackupResponse(_message.Message):
    __slots__ = ["begin", "chunk", "end"]
    class Begin(_message.Message):
        __slots__ = ["size", "store_id"]
        SIZE_FIELD_NUMBER: _ClassVar[int]
        STORE_ID_FIELD_NUMBER: _ClassVar[int]
        size: int
        store_id: str
        def __init__(self, size: _Optional[int] = ..., store_id: _Optional[str] = ...) -> None: ...
    class End(_message.Message):
        __slots__ = ["sha256", "size"]
        SHA256_FIELD_NUMBER: _ClassVar[int]
        SIZE_FIELD_NUMBER: _ClassVar[int]
        sha256: bytes
        size: int
        def __init__(self, size: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    begin: BackupResponse.Begin
    chunk: bytes
    end: BackupResponse.End
    def __init__(self, begin: _Optional[_Union[BackupResponse.Begin, _Mapping]] = ..., chunk: _Optional[bytes] = ..., end: _Optional[_Union[BackupResponse.End, _Mapping]] = ...) -> None: ...

class BoundKey(_message.Message):
    __slots__ = ["fingerprint", "since"]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    fingerprint: bytes
    since: _timestamp_pb2.Timestamp
    def __init__(self, fingerprint: _Optional[bytes] = ..., since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ["expected", "found", "ledger", "position", "what"]
    EXPECTED_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    WHAT_FIELD_NUMBER: _ClassVar[int]
    expected: str
    found: str
    ledger: str
    position: int
    what: str
    def __init__(self, ledger: _Optional[str] = ..., position: _Optional[int] = ..., what: _Optional[str] = ..., expected: _Optional[str] = ..., found: _Optional[str] = ...) -> None: ...

class GetSignedHeadRequest(_message.Message):
    __slots__ = ["ledger"]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    ledger: str
    def __init__(self, ledger: _Optional[str] = ...) -> None: ...

class GetSignedHeadResponse(_message.Message):
    __slots__ = ["signed_head"]
    SIGNED_HEAD_FIELD_NUMBER: _ClassVar[int]
    signed_head: SignedHead
    def __init__(self, signed_head: _Optional[_Union[SignedHead, _Mapping]] = ...) -> None: ...

class GetStoreStatusRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetStoreStatusResponse(_message.Message):
    __slots__ = ["kind", "last_verification", "newest_backup", "promises", "start_time", "store_id", "time", "verification_interval_seconds", "version", "warnings"]
    KIND_FIELD_NUMBER: _ClassVar[int]
    LAST_VERIFICATION_FIELD_NUMBER: _ClassVar[int]
    NEWEST_BACKUP_FIELD_NUMBER: _ClassVar[int]
    PROMISES_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    VERIFICATION_INTERVAL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    last_verification: StoreVerification
    newest_backup: StoreBackup
    promises: _containers.RepeatedScalarFieldContainer[str]
    start_time: _timestamp_pb2.Timestamp
    store_id: str
    time: _timestamp_pb2.Timestamp
    verification_interval_seconds: int
    version: str
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, store_id: _Optional[str] = ..., kind: _Optional[str] = ..., promises: _Optional[_Iterable[str]] = ..., last_verification: _Optional[_Union[StoreVerification, _Mapping]] = ..., verification_interval_seconds: _Optional[int] = ..., newest_backup: _Optional[_Union[StoreBackup, _Mapping]] = ..., version: _Optional[str] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class SignedHead(_message.Message):
    __slots__ = ["head_hash", "ledger", "position", "public_key", "signature", "store_id", "time"]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    head_hash: bytes
    ledger: str
    position: int
    public_key: bytes
    signature: bytes
    store_id: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, store_id: _Optional[str] = ..., ledger: _Optional[str] = ..., position: _Optional[int] = ..., head_hash: _Optional[bytes] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., public_key: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...

class StoreBackup(_message.Message):
    __slots__ = ["principal", "sha256", "size", "time"]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    principal: str
    sha256: bytes
    size: int
    time: _timestamp_pb2.Timestamp
    def __init__(self, time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., size: _Optional[int] = ..., sha256: _Optional[bytes] = ..., principal: _Optional[str] = ...) -> None: ...

class StoreVerification(_message.Message):
    __slots__ = ["bytes", "damage", "end_time", "of", "start_time"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    DAMAGE_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    OF_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    damage: str
    end_time: _timestamp_pb2.Timestamp
    of: str
    start_time: _timestamp_pb2.Timestamp
    def __init__(self, start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., of: _Optional[str] = ..., bytes: _Optional[int] = ..., damage: _Optional[str] = ...) -> None: ...

class Verification(_message.Message):
    __slots__ = ["contents", "entries", "finding", "head_hash", "ledgers", "moved", "passed_over", "position", "rights_not_judged", "signing_keys", "witnesses"]
    CONTENTS_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    FINDING_FIELD_NUMBER: _ClassVar[int]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    PASSED_OVER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    RIGHTS_NOT_JUDGED_FIELD_NUMBER: _ClassVar[int]
    SIGNING_KEYS_FIELD_NUMBER: _ClassVar[int]
    WITNESSES_FIELD_NUMBER: _ClassVar[int]
    contents: bytes
    entries: int
    finding: Finding
    head_hash: bytes
    ledgers: int
    moved: _timestamp_pb2.Timestamp
    passed_over: int
    position: int
    rights_not_judged: str
    signing_keys: _containers.RepeatedCompositeFieldContainer[BoundKey]
    witnesses: int
    def __init__(self, ledgers: _Optional[int] = ..., entries: _Optional[int] = ..., witnesses: _Optional[int] = ..., position: _Optional[int] = ..., head_hash: _Optional[bytes] = ..., finding: _Optional[_Union[Finding, _Mapping]] = ..., signing_keys: _Optional[_Iterable[_Union[BoundKey, _Mapping]]] = ..., contents: _Optional[bytes] = ..., moved: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., rights_not_judged: _Optional[str] = ..., passed_over: _Optional[int] = ...) -> None: ...
