// base/error_codes.h - the codes that have a name for clients: number, name, where they come from.
//
// One table: it gives the constants (base::kBadValue) and the text of `codeName` ("BadValue").
// Names and numbers are those of wire spec 5; a newer name stands only where clients look for it.
// All other codes are places in a server ("Location17356"), of five to seven digits; they stand as
// numbers where they are thrown. tests/tree/test_error_codes.py holds src/ to that, and the table
// to src/.
#pragma once

namespace base {

// clang-format off
#define BASE_ERROR_CODES(X)                                                                        \
    X(0, OK, "an assertion of the old server that had no number")                                  \
    X(1, InternalError, "anything that should not be; damaged index buckets and records")          \
    X(2, BadValue, "a value that is of the right type and still not possible")                     \
    X(5, GraphContainsCycle, "a view that would stand on itself")                                  \
    X(6, HostUnreachable, "another member that cannot be reached")                                 \
    X(8, UnknownError, "start-up and log files: what the operating system refuses")                \
    X(9, FailedToParse, "a request that has no meaning: unknown or missing fields")                \
    X(11, UserNotFound, "commands about a user that is not there")                                 \
    X(12, UnsupportedFormat, "an upsert whose query and update contradict each other")             \
    X(13, Unauthorized, "what a client may not do; a command for admin, or for this machine only") \
    X(14, TypeMismatch, "a field of a command that has the wrong type")                            \
    X(15, Overflow, "what is nested too deeply, paths too long, sorts that need too much memory")  \
    X(16, InvalidLength, "write batches that are empty or too long")                               \
    X(17, ProtocolError, "an OP_MSG that contradicts itself")                                      \
    X(18, AuthenticationFailed, "a login that fails, whatever the reason")                         \
    X(20, IllegalOperation, "what is not possible in the present state, or here at all")           \
    X(22, InvalidBSON, "a document whose bytes are damaged")                                       \
    X(23, AlreadyInitialized, "replSetInitiate where a set is there")                              \
    X(26, NamespaceNotFound, "commands on a collection that is not there")                         \
    X(27, IndexNotFound, "dropIndexes, collMod")                                                   \
    X(28, PathNotViable, "updates: a path through what is no document")                            \
    X(31, RoleNotFound, "commands that name a role there is not")                                  \
    X(34, CannotBackfillArray, "updates: a position far behind the end of an array")               \
    X(40, ConflictingUpdateOperators, "updates: two modifiers for one path")                       \
    X(43, CursorNotFound, "getMore")                                                               \
    X(47, NoMatchingDocument, "entries of a log of writes whose document is not there")            \
    X(48, NamespaceExists, "create, renameCollection")                                             \
    X(50, ExceededTimeLimit, "maxTimeMS")                                                          \
    X(52, DollarPrefixedFieldName, "documents to store")                                           \
    X(53, InvalidIdField, "an _id of a type that cannot be one")                                   \
    X(54, NotSingleValueField, "an _id that is an array")                                          \
    X(55, InvalidDBRef, "documents to store")                                                      \
    X(56, EmptyFieldName, "updates")                                                               \
    X(57, DottedFieldName, "documents to store")                                                   \
    X(59, CommandNotFound, "a command without an entry in commands/")                              \
    X(64, WriteConcernFailed, "by old messages: members that do not come in time")                 \
    X(66, ImmutableField, "updates of _id")                                                        \
    X(67, CannotCreateIndex, "index definitions")                                                  \
    X(72, InvalidOptions, "options that are unknown, or not supported here")                       \
    X(73, InvalidNamespace, "names of databases and collections")                                  \
    X(74, NodeNotFound, "a configuration without this server")                                     \
    X(76, NoReplicationEnabled, "replSet commands of a server without a set")                      \
    X(79, UnknownReplWriteConcern, "a w that the configuration has no meaning for")                \
    X(80, InvalidRoleModification, "roles that would give what they cannot, or themselves")        \
    X(81, RoleDataInconsistent, "a role whose document is damaged")                                \
    X(85, IndexOptionsConflict, "an index with these keys and other options")                      \
    X(86, IndexKeySpecsConflict, "an index of this name with other keys")                          \
    X(89, NetworkTimeout, "another member that does not answer in time")                           \
    X(93, InvalidReplicaSetConfig, "configurations of a replica set")                              \
    X(94, NotYetInitialized, "what needs a configuration")                                         \
    X(95, NotSecondary, "what a primary cannot be asked for")                                      \
    X(96, OperationFailed, "files that cannot be read or written while the server runs")           \
    X(100, UnsatisfiableWriteConcern, "a w beyond the members of the set")                         \
    X(103, NewReplicaSetConfigurationIncompatible, "replSetReconfig")                              \
    X(104, NodeNotElectable, "a configuration by which another member is the primary")             \
    X(108, InconsistentReplicaSetNames, "heartbeats of another set")                               \
    X(110, CannotInitializeNodeWithData, "a new member that has data of its own")                  \
    X(111, NotExactValueField, "upserts by a part of _id")                                         \
    X(112, WriteConflict, "transactions in whose way others are; rows too old for the cache")      \
    X(115, CommandNotSupported, "commands that are known by name only")                            \
    X(121, DocumentValidationFailure, "documents that the validator of a collection refuses")      \
    X(125, CommandFailed, "the end of a transaction outside of one")                               \
    X(123, NotAReplicaSet, "read concerns that only a replica set can fulfil")                     \
    X(146, ExceededMemoryLimit, "operations and results beyond their memory limits")               \
    X(148, ReadConcernMajorityNotEnabled, "that read concern, on a member of a set")               \
    X(161, IncompatibleCollationVersion, "a collation of another version of ICU")                  \
    X(165, ViewDepthLimitExceeded, "a view on a view on a view...")                                \
    X(166, CommandNotSupportedOnView, "what a view cannot do")                                     \
    X(167, OptionNotSupportedOnView, "stages that a view cannot have")                             \
    X(168, InvalidPipelineOperator, "operators that are not here; what a view cannot be asked")    \
    X(171, CannotIndexParallelArrays, "by OP_MSG: two arrays under one compound index")            \
    X(183, ClientMetadataMissingField, "what programs say of themselves in hello")                 \
    X(184, ClientMetadataAppNameTooLarge, "the same")                                              \
    X(185, ClientMetadataDocumentTooLarge, "the same")                                             \
    X(186, ClientMetadataCannotBeMutated, "the same, for a second time")                           \
    X(197, InvalidIndexSpecificationOption, "by OP_MSG: an option that this index cannot have")    \
    X(207, InvalidUUID, "the id of a session")                                                     \
    X(217, IncompleteTransactionHistory, "a retried write whose entry in the log is gone")         \
    X(224, QueryFeatureNotAllowed, "$expr in the query of an upsert, or in an array filter")       \
    X(225, TransactionTooOld, "a write with an older number than the last one of its session")     \
    X(189, PrimarySteppedDown, "waits for members when the primary stops being it")                \
    X(232, MaxSubPipelineDepthExceeded, "pipelines in pipelines in pipelines")                     \
    X(241, ConversionFailure, "$convert and its like, of a value that has no such meaning")        \
    X(246, SnapshotUnavailable, "transactions whose collection has changed")                       \
    X(251, NoSuchTransaction, "transactions that are over, or that there never were")              \
    X(256, TransactionCommitted, "what comes for one that is committed")                           \
    X(257, TransactionTooLarge, "transactions with too many changes")                              \
    X(260, InvalidResumeToken, "places in a change stream that are none")                          \
    X(261, TooManyLogicalSessions, "a session beyond the limit")                                   \
    X(263, OperationNotSupportedInTransaction, "what a transaction cannot have in it")             \
    X(280, ChangeStreamFatalError, "places in a change stream that the log lacks")                 \
    X(286, ChangeStreamHistoryLost, "the same, overwritten in the log")                            \
    X(292, QueryExceededMemoryLimitNoDiskUseAllowed, "sorts and groups with allowDiskUse: false")  \
    X(322, APIVersionError, "an apiVersion other than 1")                                          \
    X(323, APIStrictError, "with apiStrict, what is not in API version 1")                         \
    /* Places in the old server that got a name, and one of fewer digits. */                       \
    X(4568, Location4568, "what $lookup finds for one document, if it is too large")               \
    X(10003, CannotGrowDocumentInCappedNamespace, "updates in a capped collection")                \
    X(10107, NotWritablePrimary, "writes where no set has been initiated")                         \
    X(11000, DuplicateKey, "unique indexes")                                                       \
    X(11600, InterruptedAtShutdown, "operations that a shutdown ends")                             \
    X(11601, Interrupted, "operations that killOp ends")                                           \
    X(11602, InterruptedDueToReplStateChange, "writes of a member that stopped being primary")     \
    X(13297, DatabaseDifferCase, "a database whose name differs only in case from another one")    \
    X(13435, NotPrimaryNoSecondaryOk, "reads there")                                               \
    X(13436, NotPrimaryOrSecondary, "reads there, also of a secondary")                            \
    X(14031, OutOfDiskSpace, "data files and index builds that find no room")                      \
    X(17280, KeyTooLong, "documents whose key is too long for an index")                           \
    /* Of this server alone. */                                                                    \
    X(90001, WorkLimitExceeded, "work on one document beyond documentWorkTicks")
// clang-format on

enum Code : int {
#define X(number, name, where) k##name = number,  // NOLINT: the name of a code
    BASE_ERROR_CODES(X)
#undef X
};

}  // namespace base
