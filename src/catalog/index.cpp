// One index of a collection: what the store says of it, and the errors of its keys.
#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "catalog/collection.h"
#include "sched/interruption.h"

namespace catalog {

namespace {

// {field: value} from a key pattern and an index key, for clients that read error details.
bson::Object named_key(bson::Doc pattern, bson::Doc key) {
    bson::Builder out;
    auto value = key.begin();
    for (const bson::Element& field : pattern) {
        if (value == key.end()) break;
        out.append_as(field.name(), *value);
        ++value;
    }
    return out.object();
}

}  // namespace

void throw_duplicate_key(const Index& index, std::string_view ns, bson::Doc key) {
    const bson::Object shown = readable_key(key, *index.generator);
    // A key may be as long as a document, and a reply has to hold more than one.
    constexpr int32_t kDetailsBytesMax = 4096;
    bson::Builder details;
    details.append("keyPattern", index.key_pattern);
    if (key.size() <= kDetailsBytesMax)
        details.append("keyValue", named_key(index.key_pattern, shown));
    throw base::Error(base::kDuplicateKey,
                      fmt::format("E11000 duplicate key error index: {}.${}  dup key: {}", ns,
                                  index.name, bson::key_to_text(shown)),
                      details.doc().bytes());
}

void throw_key_too_long(int code, const Index& index, std::string_view ns, bson::Doc key) {
    base::fail(code, "Btree::insert: key too large to index, failing {}.${} {} {}", ns, index.name,
               key.size(), bson::key_to_text(readable_key(key, *index.generator)));
}

void Index::read(const storage::IndexEntry& entry, int at) {
    slot = at;
    name = entry.name;
    spec = entry.spec;
    // One without a pattern is not maintained either.
    const bson::Element key = spec["key"];
    key_pattern = key.is_object() ? key.as_doc() : bson::Doc();
    is_id = is_id_pattern(key_pattern);
    unique = is_id || spec["unique"].truthy();
    sparse = spec["sparse"].truthy();
    drop_dups = unique && spec["dropDups"].truthy();
    hidden = !is_id && spec["hidden"].truthy();
    multikey = entry.multikey;
    ready = entry.ready;
    store = entry.index;
    if (store == nullptr || generator != nullptr) return;
    try {
        generator = KeyGenerator::make(spec, collator_of(spec));
        is_special = generator->geo() != geo::IndexKind::none || generator->text() != nullptr;
    } catch (const base::Error& error) {
        if (sched::is_end_of_work(error)) throw;
        fault = error.what();
        store = nullptr;
    }
}

bool Index::is_like(bson::Doc definition) const {
    const bson::Element key = definition["key"];
    const bson::Element filter = definition["partialFilterExpression"];
    const bson::Element own = spec["partialFilterExpression"];
    return key.is_object() && bson::compare_docs(key_pattern, key.as_doc()) == 0 &&
           bson::equal_values(filter, own) &&
           collation::is_same(collator_of(definition).get(),
                              generator == nullptr ? nullptr : generator->collator());
}

}  // namespace catalog
