#include "command/streams/stream_request.h"

#include <algorithm>

#include "base/error.h"
#include "bson/type_names.h"

namespace command {

namespace {

constexpr int kUnknownField = 40415;
constexpr int kBothTokens = 50674;
constexpr int kSeveralStarts = 40674;

bool read_flag(const bson::Element& e) {
    if (e.type() != bson::Type::boolean)
        base::fail(base::kTypeMismatch,
                   "BSON field '$changeStream.{}' is the wrong type '{}', expected type 'bool'",
                   e.name(), bson::name_of(e.type()));
    return e.as_bool();
}

std::string_view read_mode(const bson::Element& e, std::initializer_list<std::string_view> modes) {
    if (!e.is_string())
        base::fail(base::kTypeMismatch,
                   "BSON field '$changeStream.{}' is the wrong type '{}', expected type 'string'",
                   e.name(), bson::name_of(e.type()));
    if (std::ranges::find(modes, e.as_string()) == modes.end())
        base::fail(base::kBadValue,
                   "Enumeration value '{}' for field '$changeStream.{}' is not a valid value.",
                   e.as_string(), e.name());
    return e.as_string();
}

// The log has no document as it was before or after a change.
[[noreturn]] void refuse_images(const bson::Element& e) {
    base::fail(base::kInvalidOptions,
               "$changeStream: '{}: {}' is not supported: this server keeps no images of documents "
               "before and after changes",
               e.name(), e.as_string());
}

void take_full_document(const bson::Element& e, StreamRequest& request) {
    const std::string_view mode =
        read_mode(e, {"default", "updateLookup", "whenAvailable", "required"});
    if (mode == "whenAvailable" || mode == "required") refuse_images(e);
    request.looks_up = mode == "updateLookup";
}

void take_before_change(const bson::Element& e, StreamRequest&) {
    if (read_mode(e, {"off", "whenAvailable", "required"}) != "off") refuse_images(e);
}

void take_token(const bson::Element& e, StreamRequest& request) {
    if (request.after)
        base::fail(kBothTokens,
                   "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage.");
    request.after = ResumeToken::parse(e);
    if (e.name() == "resumeAfter" && request.after->kind == ResumeToken::Kind::invalidate)
        base::fail(
            base::kInvalidResumeToken,
            "Attempting to resume a change stream using 'resumeAfter' is not allowed from an "
            "invalidate notification.");
}

void take_time(const bson::Element& e, StreamRequest& request) {
    if (e.type() != bson::Type::timestamp)
        base::fail(base::kTypeMismatch,
                   "BSON field '$changeStream.startAtOperationTime' is the wrong type '{}', "
                   "expected type 'timestamp'",
                   bson::name_of(e.type()));
    request.start_at = e.as_timestamp();
}

void take_scope(const bson::Element& e, StreamRequest& request) {
    if (read_flag(e)) request.scope = StreamRequest::Scope::cluster;
}

void refuse_flag(const bson::Element& e, StreamRequest&) {
    if (read_flag(e))
        base::fail(base::kInvalidOptions, "$changeStream: '{}' is not supported by this server",
                   e.name());
}

struct StreamField {
    std::string_view name;
    void (*take)(const bson::Element& e, StreamRequest& request);
};
constexpr StreamField kStreamFields[] = {
    {"fullDocument", take_full_document},  {"fullDocumentBeforeChange", take_before_change},
    {"resumeAfter", take_token},           {"startAfter", take_token},
    {"startAtOperationTime", take_time},   {"allChangesForCluster", take_scope},
    {"showExpandedEvents", refuse_flag},   {"showMigrationEvents", refuse_flag},
    {"showSystemEvents", refuse_flag},     {"showRawUpdateDescription", refuse_flag},
    {"allowToRunOnConfigDB", refuse_flag}, {"allowToRunOnSystemNS", refuse_flag},
};

}  // namespace

void fail_for_good(int code, std::string_view text) {
    bson::Builder details;
    details.sub_array("errorLabels").push("NonResumableChangeStreamError");
    throw base::Error(code, std::string(text), details.doc().bytes());
}

StreamRequest read_stream_request(const bson::Element& spec, std::string_view db,
                                  std::string_view collection) {
    if (!spec.is_object())
        base::fail(6188500, "$changeStream must take a nested object but found: {}",
                   bson::name_of(spec.type()));
    StreamRequest request;
    request.db = db;
    request.collection = collection;
    for (const bson::Element& e : spec.as_doc()) {
        const auto field = std::ranges::find(kStreamFields, e.name(), &StreamField::name);
        if (field == std::end(kStreamFields))
            base::fail(kUnknownField, "BSON field '$changeStream.{}' is an unknown field.",
                       e.name());
        field->take(e, request);
    }
    if (request.after && request.start_at)
        base::fail(kSeveralStarts,
                   "Only one type of resume option is allowed, but multiple were found.");
    if (request.scope == StreamRequest::Scope::cluster) {
        if (db != "admin" || !collection.empty())
            base::fail(base::kInvalidOptions,
                       "A $changeStream with 'allChangesForCluster:true' may only be opened on the "
                       "'admin' database, and with no collection name; found {}{}{}",
                       db, collection.empty() ? "" : ".", collection);
        return request;
    }
    for (const std::string_view internal : {"admin", "config", "local"})
        if (db == internal)
            base::fail(base::kInvalidNamespace,
                       "$changeStream may not be opened on the internal {} database", internal);
    if (collection.starts_with("system."))
        base::fail(base::kInvalidNamespace,
                   "$changeStream may not be opened on the internal {} collection", request.ns());
    request.scope =
        collection.empty() ? StreamRequest::Scope::database : StreamRequest::Scope::collection;
    return request;
}

void check_stream_stages(bson::Doc stages) {
    constexpr std::string_view kAllowed[] = {"$match",       "$project",     "$addFields",
                                             "$replaceRoot", "$replaceWith", "$redact",
                                             "$set",         "$unset"};
    bool is_first = true;
    for (const bson::Element& stage : stages) {
        if (std::exchange(is_first, false) || !stage.is_object()) continue;
        const std::string_view name = stage.as_doc().first().name();
        if (name == "$changeStream")
            base::fail(40602, "$changeStream is only valid as the first stage in a pipeline.");
        if (name.starts_with('$') && std::ranges::find(kAllowed, name) == std::end(kAllowed))
            base::fail(base::kIllegalOperation, "{} is not permitted in a $changeStream pipeline",
                       name);
    }
}

}  // namespace command
