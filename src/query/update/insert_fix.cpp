// Insert rules: what may be stored, `_id` first, Timestamp(0,0) filled in.

#include <chrono>
#include <mutex>

#include "base/error.h"
#include "bson/element_writer.h"
#include "dialect/dialect.h"
#include "dialect/updates.h"
#include "query/update/document_check.h"
#include "query/update/update.h"

namespace query {

using bson::Element;
using bson::Type;

namespace {

bool wants_time(const Element& e) {
    return e.type() == Type::timestamp && e.as_timestamp() == 0 && e.name() != "_id";
}

void append_with_time(const Element& e, bson::Buffer& out) {
    if (wants_time(e)) {
        write_fixed(out, Type::timestamp, e.name(), next_timestamp());
    } else {
        out.append(e.raw(), e.size());
    }
}

void check_id(const Element& id, dialect::Dialect dialect) {
    const int code = dialect.code(base::kBadValue, base::kInvalidIdField);
    switch (id.type()) {
        case Type::array:
            base::fail(code, "can't use an array for _id");
        case Type::undefined:
            base::fail(code, "can't use a undefined for _id");
        case Type::regex:
            base::fail(code, "can't use a regex for _id");
        case Type::object:
            check_stored_names(id.as_doc(), false, 2, names_in_id(dialect));
            break;
        default:
            break;
    }
}

}  // namespace

void refuse_second_id() {
    base::fail(base::kBadValue, "can't have multiple _id fields in one document");
}

bool fix_for_insert(bson::Doc doc, bool need_id, bson::Buffer& out, dialect::Dialect dialect,
                    bool fills_timestamps) {
    if (doc.size() > bson::kDocumentBytesMax) {
        base::fail(base::kBadValue, "object to insert too large. size in bytes: {}, max size: {}",
                   doc.size(), bson::kDocumentBytesMax);
    }
    Element id;
    bool id_first = false;
    bool times = false;
    bool first = true;
    for (const Element& e : doc) {
        const std::string_view name = e.name();
        if (name.starts_with('$') && !dialect.has(dialect::kNamesAreFree)) {
            base::fail(base::kBadValue, "Document can't have $ prefixed field names: {}", name);
        }
        if (name == "_id") {
            check_id(e, dialect);
            if (id && dialect.has(dialect::kOneId)) refuse_second_id();
            if (!id) {
                id = e;
                id_first = first;
            }
        }
        times = times || (fills_timestamps && wants_time(e));
        first = false;
    }
    if ((id ? id_first : !need_id) && !times) return false;
    const size_t start = open_doc(out);
    if (id) {
        out.append(id.raw(), id.size());
    } else if (need_id) {
        write_fixed(out, Type::object_id, "_id", bson::new_object_id());
    }
    for (const Element& e : doc) {
        if (id && e.name() == "_id") continue;  // the first one stands, further ones are dropped
        if (times)
            append_with_time(e, out);
        else
            out.append(e.raw(), e.size());
    }
    close_doc(out, start);
    return true;
}

bool fill_timestamps(bson::Doc doc, bson::Buffer& out) {
    bool any = false;
    for (const Element& e : doc)
        any = any || wants_time(e);
    if (!any) return false;
    const size_t start = open_doc(out);
    for (const Element& e : doc)
        append_with_time(e, out);
    close_doc(out, start);
    return true;
}

uint64_t next_timestamp() {
    static std::mutex mutex;
    static uint64_t last = 0;  // guarded by mutex
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto seconds =
        static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
    const std::lock_guard<std::mutex> lock(mutex);
    // Never backwards, even if the clock was set back.
    last = seconds > last >> 32 ? (seconds << 32 | 1) : last + 1;
    return last;
}

}  // namespace query
