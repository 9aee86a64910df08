#include "base/error.h"

#include <atomic>
#include <cstdlib>

#include "base/dcheck.h"
#include "base/log.h"

namespace base {

namespace {

struct NamedCode {
    int code;
    const char* name;
};

// The names clients know (wire spec 5); newer names where today's drivers look for them.
constexpr NamedCode kNames[] = {
    {0, "OK"},
    {1, "InternalError"},
    {2, "BadValue"},
    {4, "NoSuchKey"},
    {5, "GraphContainsCycle"},
    {6, "HostUnreachable"},
    {7, "HostNotFound"},
    {8, "UnknownError"},
    {9, "FailedToParse"},
    {10, "CannotMutateObject"},
    {11, "UserNotFound"},
    {12, "UnsupportedFormat"},
    {13, "Unauthorized"},
    {14, "TypeMismatch"},
    {15, "Overflow"},
    {16, "InvalidLength"},
    {17, "ProtocolError"},
    {18, "AuthenticationFailed"},
    {20, "IllegalOperation"},
    {22, "InvalidBSON"},
    {26, "NamespaceNotFound"},
    {27, "IndexNotFound"},
    {28, "PathNotViable"},
    {31, "RoleNotFound"},
    {34, "CannotBackfillArray"},
    {40, "ConflictingUpdateOperators"},
    {43, "CursorNotFound"},
    {48, "NamespaceExists"},
    {50, "ExceededTimeLimit"},
    {52, "DollarPrefixedFieldName"},
    {53, "InvalidIdField"},
    {54, "NotSingleValueField"},
    {55, "InvalidDBRef"},
    {56, "EmptyFieldName"},
    {57, "DottedFieldName"},
    {59, "CommandNotFound"},
    {64, "WriteConcernFailed"},
    {66, "ImmutableField"},
    {67, "CannotCreateIndex"},
    {68, "IndexAlreadyExists"},
    {72, "InvalidOptions"},
    {73, "InvalidNamespace"},
    {76, "NoReplicationEnabled"},
    {79, "UnknownReplWriteConcern"},
    {85, "IndexOptionsConflict"},
    {86, "IndexKeySpecsConflict"},
    {91, "ShutdownInProgress"},
    {96, "OperationFailed"},
    {100, "CannotSatisfyWriteConcern"},
    {115, "CommandNotSupported"},
    {238, "NotImplemented"},
    {322, "APIVersionError"},
    {10003, "CannotGrowDocumentInCappedNamespace"},
    {11000, "DuplicateKey"},
    {11600, "InterruptedAtShutdown"},
    {11601, "Interrupted"},
    {13297, "DatabaseDifferCase"},
    {14031, "OutOfDiskSpace"},
    {17280, "KeyTooLong"},
};

FatalHandler g_fatal_handler = nullptr;
std::atomic<bool> g_trace_errors{false};

}  // namespace

std::string codeName(int code) {
    for (const NamedCode& named : kNames) {
        if (named.code == code) return named.name;
    }
    return fmt::format("Location{}", code);
}

bool trace_errors() {
    return g_trace_errors.load(std::memory_order_relaxed);
}
void set_trace_errors(bool on) {
    g_trace_errors.store(on, std::memory_order_relaxed);
}

void Error::trace() const {
    if (trace_errors()) log::info("error {} {}: {}", code_, codeName(code_), what());
}

void set_fatal_handler(FatalHandler handler) {
    g_fatal_handler = handler;
}

void fatal(int id, std::string_view text) {
    log::write(log::Severity::severe, fmt::format("Fatal assertion {} {}", id, text));
    if (g_fatal_handler != nullptr) g_fatal_handler(id, text);
    std::_Exit(kExitAbrupt);
}

void dcheck_failed(const char* condition, const char* file, int line) {
    fatal(0, fmt::format("check failed: {} at {}:{}", condition, file, line));
}

}  // namespace base
