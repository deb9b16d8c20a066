"""Every failure a user can see: one tree, grouped by what the caller does next.

OmnigraphError
├── InputError                   fix what you sent
│   ├── BadRequest               the request makes no sense as it stands
│   ├── CompileError             schema or query text (omnigraph.compiler.diagnostics)
│   ├── ParameterError           P001–P007, a query parameter
│   ├── ValueViolation           W…, a value or constraint rejected at write time
│   ├── EmbeddingMismatch        R003, EmbedderMissing (R004): text cannot be turned into this vector
│   ├── QueryCancelled           the caller stopped the query
│   ├── ChangeCursorRejected     a page token or cursor that does not belong here
│   ├── PolicyInvalid            a policy bundle that cannot be enforced as written
│   ├── StartRefused             settings under which a server must not start
│   │   └── BootRefused          a cluster that cannot be served
│   └── ResourceLimitExceeded    send less at once
├── NotFound                     name something that exists
│   ├── BranchNotFound, CommitNotFound (AmbiguousCommit), QueryNotFound (R001)
│   └── HistoricalVersionReclaimed, ChangeFeedGap
├── Retry                        the world moved; start again from fresh state
│   ├── ReadSetChanged, ExpectedVersionMismatch, RowLevelCasContention, BranchBusy
│   └── TooManyRequests, Overloaded   wait a little first
├── Conflict                     decide between two things that cannot both hold
│   ├── KeyConflict, PreconditionFailed, MergeConflicts
│   ├── CommitHasNoParent, ChangeSchemaBoundary
│   └── AlreadyInitialized, InitializationClaimed
├── RecoveryNeeded               an interrupted operation must be resolved first
│   ├── RecoveryRequired, OperationAborted
│   └── InitializationCommitted, InitializationIndeterminate
├── PermissionDenied             ask for permission
│   └── Unauthenticated          say who you are first
├── PolicyFailed                 a policy that could not be evaluated: neither yes nor no
├── EmbeddingError               look at the embedding provider
├── ExternalBlobSource           look at the object that a blob is to refer to
├── ServerFailed                 look at the server, or at the way to it
├── TimedOut                     give it more time, or less to do
└── StorageError                 look at the storage
    ├── FormatRefused            another release wrote this graph
    └── Corrupt                  the stored state contradicts itself

`code` is stable and append-only. Exit codes and HTTP statuses are tables keyed by class below.
"""

from __future__ import annotations

from omnigraph.errors.absent import (
    AmbiguousCommit,
    BranchNotFound,
    ChangeFeedGap,
    CommitNotFound,
    HistoricalVersionReclaimed,
    NotFound,
    QueryNotFound,
)
from omnigraph.errors.base import OmnigraphError
from omnigraph.errors.conflicts import (
    AlreadyInitialized,
    ChangeSchemaBoundary,
    CommitHasNoParent,
    Conflict,
    ConflictKind,
    InitializationClaimed,
    KeyConflict,
    MergeConflict,
    MergeConflicts,
    PreconditionFailed,
)
from omnigraph.errors.inputs import (
    BadRequest,
    BootRefused,
    ChangeCursorRejected,
    EmbedderMissing,
    EmbeddingMismatch,
    InputError,
    ParameterError,
    PolicyInvalid,
    QueryCancelled,
    ResourceLimitExceeded,
    StartRefused,
    ValueViolation,
)
from omnigraph.errors.outside import (
    Corrupt,
    EmbeddingError,
    ExternalBlobSource,
    FormatRefused,
    PermissionDenied,
    PolicyFailed,
    ServerFailed,
    StorageError,
    TimedOut,
    Unauthenticated,
)
from omnigraph.errors.recoveries import (
    InitializationCommitted,
    InitializationIndeterminate,
    OperationAborted,
    RecoveryNeeded,
    RecoveryRequired,
)
from omnigraph.errors.retries import (
    BranchBusy,
    ExpectedVersionMismatch,
    OtherChange,
    Overloaded,
    ReadSetChanged,
    Retry,
    RowLevelCasContention,
    TooManyRequests,
)

__all__ = [
    "AlreadyInitialized",
    "AmbiguousCommit",
    "BadRequest",
    "BootRefused",
    "BranchBusy",
    "BranchNotFound",
    "ChangeCursorRejected",
    "ChangeFeedGap",
    "ChangeSchemaBoundary",
    "CommitHasNoParent",
    "CommitNotFound",
    "Conflict",
    "ConflictKind",
    "Corrupt",
    "EmbedderMissing",
    "EmbeddingError",
    "EmbeddingMismatch",
    "ExpectedVersionMismatch",
    "ExternalBlobSource",
    "FormatRefused",
    "HistoricalVersionReclaimed",
    "InitializationClaimed",
    "InitializationCommitted",
    "InitializationIndeterminate",
    "InputError",
    "KeyConflict",
    "MergeConflict",
    "MergeConflicts",
    "NotFound",
    "OmnigraphError",
    "OperationAborted",
    "Overloaded",
    "ParameterError",
    "OtherChange",
    "PermissionDenied",
    "PolicyFailed",
    "PolicyInvalid",
    "PreconditionFailed",
    "QueryCancelled",
    "QueryNotFound",
    "ReadSetChanged",
    "RecoveryNeeded",
    "RecoveryRequired",
    "ResourceLimitExceeded",
    "Retry",
    "RowLevelCasContention",
    "ServerFailed",
    "StartRefused",
    "StorageError",
    "TimedOut",
    "TooManyRequests",
    "Unauthenticated",
    "ValueViolation",
]
