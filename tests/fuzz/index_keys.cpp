// Fuzz target: the definition of an index, and the documents whose keys it asks for.
#include "catalog/index_keys.h"

#include "bson/compare.h"
#include "catalog/index_spec.h"
#include "mutator.h"
#include "target.h"

std::span<const char* const> fuzz::words() {
    static constexpr const char* kWords[] = {"key",
                                             "name",
                                             "unique",
                                             "sparse",
                                             "hashed",
                                             "v",
                                             "ns",
                                             "background",
                                             "seed",
                                             "hashVersion",
                                             "2d",
                                             "text",
                                             "$**",
                                             "weights",
                                             "dropDups",
                                             "collation",
                                             "partialFilterExpression",
                                             "expireAfterSeconds",
                                             "2dsphere",
                                             "locale",
                                             "simple"};
    return kWords;
}

namespace {

void check(const catalog::KeyGenerator& generator, const catalog::KeySet& keys) {
    for (size_t i = 0; i < keys.size(); ++i) {
        fuzz::expect_document(keys[i].bytes(), "a key is a valid document");
        fuzz::expect(static_cast<size_t>(keys[i].field_count()) == generator.fields().size(),
                     "a key has a value for each field");
        for (const bson::Element& value : keys[i])
            fuzz::expect(value.name().empty(), "the values of a key have no names");
        fuzz::expect(
            i == 0 || bson::compare_keys(keys[i - 1], keys[i], generator.descending_bits()) != 0,
            "each key is there once");
    }
    fuzz::expect(generator.sparse() || generator.filter() != nullptr || !keys.empty(),
                 "only sparse and partial indexes leave documents out");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<bson::Object> documents = fuzz::documents(data, size);
    if (documents.size() < 2) return fuzz::kNoInput;
    bson::Object spec;
    std::unique_ptr<catalog::KeyGenerator> generator;
    fuzz::as_operation([&] {
        spec = catalog::normalise_index_spec(documents[0], "test.c");
        fuzz::expect_document(spec.bytes(), "a stored definition is valid");
        catalog::check_key_kind(spec);
        generator = catalog::KeyGenerator::make(spec);
    });
    if (generator == nullptr) return fuzz::kTaken;
    catalog::KeySet keys;
    for (size_t i = 1; i < documents.size(); ++i) {
        const bool derived = fuzz::as_operation([&] { generator->keys(documents[i], keys); });
        if (derived) check(*generator, keys);
    }
    return fuzz::kTaken;
}
