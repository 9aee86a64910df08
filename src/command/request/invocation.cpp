#include "command/request/invocation.h"

#include "catalog/catalog.h"
#include "catalog/names.h"
#include "command/context/locks.h"
#include "dialect/collections.h"
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

}  // namespace command
