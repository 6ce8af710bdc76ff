from . import ledger_pb2 as _ledger_pb2
from . import mechanism_pb2 as _mechanism_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CommitSetRequest(_message.Message):
    __slots__ = ["commit", "last_receipt", "sequence", "writer"]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    LAST_RECEIPT_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    commit: SetCommit
    last_receipt: SetReceipt
    sequence: int
    writer: str
    def __init__(self, writer: _Optional[str] = ..., sequence: _Optional[int] = ..., commit: _Optional[_Union[SetCommit, _Mapping]] = ..., last_receipt: _Optional[_Union[SetReceipt, _Mapping]] = ...) -> None: ...

class CommitSetResponse(_message.Message):
    __slots__ = ["receipt", "replayed"]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    receipt: SetReceipt
    replayed: bool
    def __init__(self, receipt: _Optional[_Union[SetReceipt, _Mapping]] = ..., replayed: bool = ...) -> None: ...

class LedgerSet(_message.Message):
    __slots__ = ["ledgers", "range"]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    ledgers: _containers.RepeatedScalarFieldContainer[str]
    range: _ledger_pb2.LedgerRange
    def __init__(self, ledgers: _Optional[_Iterable[str]] = ..., range: _Optional[_Union[_ledger_pb2.LedgerRange, _Mapping]] = ...) -> None: ...

class ReleaseSetRequest(_message.Message):
    __slots__ = ["last_receipt", "release", "sequence", "writer"]
    LAST_RECEIPT_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    last_receipt: SetReceipt
    release: SetRelease
    sequence: int
    writer: str
    def __init__(self, writer: _Optional[str] = ..., sequence: _Optional[int] = ..., release: _Optional[_Union[SetRelease, _Mapping]] = ..., last_receipt: _Optional[_Union[SetReceipt, _Mapping]] = ...) -> None: ...

class ReleaseSetResponse(_message.Message):
    __slots__ = ["receipt", "replayed"]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    receipt: SetReceipt
    replayed: bool
    def __init__(self, receipt: _Optional[_Union[SetReceipt, _Mapping]] = ..., replayed: bool = ...) -> None: ...

class ReportSetRequest(_message.Message):
    __slots__ = ["charge", "check_only", "contribution", "last_receipt", "sequence", "set", "writer"]
    CHARGE_FIELD_NUMBER: _ClassVar[int]
    CHECK_ONLY_FIELD_NUMBER: _ClassVar[int]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    LAST_RECEIPT_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    charge: _ledger_pb2.Charge
    check_only: bool
    contribution: _ledger_pb2.SetPart.Contribution
    last_receipt: SetReceipt
    sequence: int
    set: LedgerSet
    writer: str
    def __init__(self, set: _Optional[_Union[LedgerSet, _Mapping]] = ..., writer: _Optional[str] = ..., sequence: _Optional[int] = ..., charge: _Optional[_Union[_ledger_pb2.Charge, _Mapping]] = ..., check_only: bool = ..., last_receipt: _Optional[_Union[SetReceipt, _Mapping]] = ..., contribution: _Optional[_Union[_ledger_pb2.SetPart.Contribution, str]] = ...) -> None: ...

class ReserveSetRequest(_message.Message):
    __slots__ = ["contribution", "last_receipt", "reserve", "sequence", "set", "writer"]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    LAST_RECEIPT_FIELD_NUMBER: _ClassVar[int]
    RESERVE_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SET_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    contribution: _ledger_pb2.SetPart.Contribution
    last_receipt: SetReceipt
    reserve: _ledger_pb2.Reserve
    sequence: int
    set: LedgerSet
    writer: str
    def __init__(self, set: _Optional[_Union[LedgerSet, _Mapping]] = ..., writer: _Optional[str] = ..., sequence: _Optional[int] = ..., reserve: _Optional[_Union[_ledger_pb2.Reserve, _Mapping]] = ..., last_receipt: _Optional[_Union[SetReceipt, _Mapping]] = ..., contribution: _Optional[_Union[_ledger_pb2.SetPart.Contribution, str]] = ...) -> None: ...

class ReserveSetResponse(_message.Message):
    __slots__ = ["expire_time", "receipt", "replayed"]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_FIELD_NUMBER: _ClassVar[int]
    expire_time: _timestamp_pb2.Timestamp
    receipt: SetReceipt
    replayed: bool
    def __init__(self, receipt: _Optional[_Union[SetReceipt, _Mapping]] = ..., replayed: bool = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class SetCommit(_message.Message):
    __slots__ = ["events", "labels", "reservation"]
    class LabelsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[_mechanism_pb2.Event]
    labels: _containers.ScalarMap[str, str]
    reservation: SetReservation
    def __init__(self, reservation: _Optional[_Union[SetReservation, _Mapping]] = ..., events: _Optional[_Iterable[_Union[_mechanism_pb2.Event, _Mapping]]] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class SetMember(_message.Message):
    __slots__ = ["head_hash", "ledger", "position"]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    head_hash: bytes
    ledger: str
    position: int
    def __init__(self, ledger: _Optional[str] = ..., position: _Optional[int] = ..., head_hash: _Optional[bytes] = ...) -> None: ...

class SetReceipt(_message.Message):
    __slots__ = ["contribution", "head_hash", "journal", "members", "position", "sequence", "store_id", "time", "writer"]
    CONTRIBUTION_FIELD_NUMBER: _ClassVar[int]
    HEAD_HASH_FIELD_NUMBER: _ClassVar[int]
    JOURNAL_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    WRITER_FIELD_NUMBER: _ClassVar[int]
    contribution: _ledger_pb2.SetPart.Contribution
    head_hash: bytes
    journal: str
    members: _containers.RepeatedCompositeFieldContainer[SetMember]
    position: int
    sequence: int
    store_id: str
    time: _timestamp_pb2.Timestamp
    writer: str
    def __init__(self, store_id: _Optional[str] = ..., journal: _Optional[str] = ..., writer: _Optional[str] = ..., sequence: _Optional[int] = ..., position: _Optional[int] = ..., head_hash: _Optional[bytes] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., members: _Optional[_Iterable[_Union[SetMember, _Mapping]]] = ..., contribution: _Optional[_Union[_ledger_pb2.SetPart.Contribution, str]] = ...) -> None: ...

class SetRelease(_message.Message):
    __slots__ = ["reason", "reservation"]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RESERVATION_FIELD_NUMBER: _ClassVar[int]
    reason: str
    reservation: SetReservation
    def __init__(self, reservation: _Optional[_Union[SetReservation, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class SetReservation(_message.Message):
    __slots__ = ["journal", "position"]
    JOURNAL_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    journal: str
    position: int
    def __init__(self, journal: _Optional[str] = ..., position: _Optional[int] = ...) -> None: ...
