#include "command/request/invocation.h"

#include "catalog/catalog.h"
#include "catalog/names.h"

namespace command {

namespace {

using catalog::until_nul;

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

std::string Invocation::ns() const {
    const bson::Element target = first();
    if (!target.is_string())
        base::fail(base::kInvalidNamespace, "collection name has invalid type for {}", name);
    const std::string_view collection = until_nul(target.as_string());
    if (collection.empty())
        base::fail(base::kInvalidNamespace, "Invalid namespace specified '{}.{}'", db, collection);
    return joined(db, collection);
}

std::string Invocation::ns_or_none() const {
    const bson::Element target = first();
    std::string ns = joined(db, target.is_string() ? until_nul(target.as_string()) : "");
    if (ns.size() > catalog::kIndexNamespaceMax)
        base::fail(10080, "ns name too long, max size is {} bytes", catalog::kIndexNamespaceMax);
    return ns;
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
