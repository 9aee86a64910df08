#include "command/request/invocation.h"

#include <fmt/format.h>

#include "bson/json.h"
#include "catalog/catalog.h"
#include "catalog/names.h"
#include "command/context/locks.h"
#include "dialect/collections.h"
#include "dialect/pipelines.h"
#include "dialect/requests.h"
#include "replica/member.h"

namespace command {

namespace {

std::string joined(std::string_view db, std::string_view collection) {
    std::string ns;
    ns.reserve(db.size() + 1 + collection.size());
    ns.append(db).append(1, '.').append(collection);
    return ns;
}

// "E11000 duplicate key error index: db.c.$a_1  dup key: { : 1 }" as today's servers write it, for
// programs that look for the name of the index in it. The key that the error quotes is the one of
// its details, without names; one that is too long for these is shown as the error has it.
base::Error duplicate_key_of_today(const base::Error& error) {
    constexpr std::string_view kIndex = "index: ";
    constexpr std::string_view kKey = "  dup key: ";
    if (error.details() == nullptr) return error;
    const bson::Element value = bson::Doc(error.details()->data())["keyValue"];
    const bson::Doc named = value.is_object() ? value.as_doc() : bson::Doc();
    bson::Builder key;
    for (const bson::Element& e : named)
        key.append_as("", e);
    const std::string_view text = error.what();
    const size_t index = text.find(kIndex);
    const size_t name = text.find(".$", index);
    if (index == text.npos || name == text.npos) return error;
    size_t end = text.size() - bson::key_to_text(key.doc()).size() - kKey.size();
    // The text may have been cut.
    if (end >= text.size() || !text.substr(end).starts_with(kKey)) end = text.find(kKey, name);
    const size_t ns = index + kIndex.size();
    const std::string shown = named.empty() && end < text.size()
                                  ? std::string(text.substr(end + kKey.size()))
                                  : bson::to_text(named);
    return base::Error(
        error.code(),
        fmt::format("{}collection: {} index: {} dup key: {}", text.substr(0, index),
                    text.substr(ns, name - ns), text.substr(name + 2, end - name - 2), shown),
        *error.details());
}

}  // namespace

void refuse_so_many_fields(std::string_view command) {
    base::fail(base::kFailedToParse, "{} has more than {} fields", command, kFieldsMax);
}

void Invocation::check_concern() {
    const replica::Member* const member = service.context().member;
    const bool journaling = service.durability().journaling();
    const auto given = [this] { return body["writeConcern"]; };
    if (member != nullptr && member->has_default_concern()) {
        const bson::Element named = given();
        if (is_absent(named, dialect()) || (named.is_object() && named.as_doc().empty()))
            concern = WriteConcern::of_set(*member);
    }
    concern.check(journaling, member != nullptr);
    if (read_level == ReadLevel::linearizable)
        base::fail(base::kInvalidOptions,
                   "$out and $merge cannot be used with readConcern level 'linearizable'");
    if (read_level == ReadLevel::majority && asks_for_members(*this, concern) &&
        concern.mode != "majority")
        base::fail(base::kInvalidOptions,
                   "readConcern level 'majority' beside a writeConcern of other members than a "
                   "majority is not supported");
    if (member == nullptr || concern.mode != "majority" || !journaling) return;
    // Nothing else outlives an election.
    if (member->elections() != nullptr) concern.journal = true;
    if (!dialect().has(dialect::kMajorityIsJournaled)) return;
    // The old servers asked only that a majority has the write, not that it is in their journals.
    const std::shared_ptr<const replica::Config> config = member->config();
    const bool says_j = given().is_object() && given().as_doc().has("j");
    if (config != nullptr && config->majority_waits_for_journal && !says_j) concern.journal = true;
}

bool Invocation::is_of_stream() const {
    if (!dialect().has(dialect::kChangesAreStreamed)) return false;
    if (name == "getMore") return true;
    if (name != "aggregate") return false;
    const bson::Element first = body.at_path("pipeline.0");
    return first.is_object() && first.as_doc().first().name() == "$changeStream";
}

void Invocation::wait_for_turn() {
    suspension = Suspension::until_turn(Suspension::Clock::now() + kRetryAfter);
}

std::string_view Invocation::name_in(const bson::Element& string) const {
    const std::string_view whole = string.as_string();
    const std::string_view name_of_old = catalog::until_nul(whole);
    if (dialect().has(dialect::kNulIsRefused) && name_of_old.size() != whole.size())
        base::fail(base::kInvalidNamespace, "the name '{}' goes on behind a NUL byte", name_of_old);
    if (dialect().has(dialect::kNamesOfCollectionsAreChecked)) catalog::refuse_leading_dot(whole);
    return name_of_old;
}

std::string Invocation::ns() const {
    const bson::Element target = first();
    if (!target.is_string())
        base::fail(base::kInvalidNamespace, "collection name has invalid type for {}", name);
    const std::string_view collection = name_in(target);
    if (collection.empty())
        base::fail(base::kInvalidNamespace, "Invalid namespace specified '{}.{}'", db, collection);
    return joined(db, collection);
}

std::string Invocation::ns_or_none() const {
    const bson::Element target = first();
    std::string ns = dialect().has(dialect::kNamesAreNeeded)
                         ? this->ns()
                         : joined(db, target.is_string() ? name_in(target) : "");
    const size_t most = service.engine().name_limits().index_ns;
    if (ns.size() > most) base::fail(10080, "ns name too long, max size is {} bytes", most);
    return ns;
}

int64_t Invocation::batch_size(int64_t default_size) const {
    const bson::Element cursor = body["cursor"];
    if (cursor.missing() || cursor.type() == bson::Type::null) return default_size;
    if (!cursor.is_object())
        base::fail(base::kTypeMismatch, "cursor field must be missing or an object");
    read_fields(cursor.as_doc(), "cursor", kCursorFields, dialect());
    const bson::Element size = cursor.as_doc()["batchSize"];
    if (is_absent(size, dialect())) return default_size;
    if (!size.is_number()) base::fail(base::kTypeMismatch, "cursor.batchSize must be a number");
    if (size.to_int64() < 0)
        base::fail(dialect().code(base::kBadValue, 51024), "cursor.batchSize must not be negative");
    return size.to_int64();
}

int64_t Invocation::count_documents(std::string_view field) const {
    if (msg != nullptr) {
        if (const wire::DocSequence* sequence = msg->sequence(field))
            return static_cast<int64_t>(sequence->count());
    }
    const bson::Element list = body[field];
    return list.is_array() ? list.as_doc().field_count() : -1;
}

base::Error for_client(const Invocation& invocation, const base::Error& error) {
    constexpr int kParallelArrays = 10088;
    constexpr int kDollarInDatabase = 17320;
    if (!invocation.dialect().has(dialect::kErrorsOfToday)) return error;
    if (error.code() == base::kDuplicateKey) return duplicate_key_of_today(error);
    if (error.code() == kParallelArrays)
        return base::Error(base::kCannotIndexParallelArrays, error.what());
    if (error.code() == kDollarInDatabase)
        return base::Error(base::kInvalidNamespace, error.what());
    return error;
}

void append_error(bson::Builder& out, const base::Error& error) {
    out.append("ok", 0.0)
        .append("errmsg", std::string_view(error.what()))
        .append("code", error.code())
        .append("codeName", base::code_name(error.code()));
    if (error.details() != nullptr) out.append_all(bson::Doc(error.details()->data()));
}

}  // namespace command
