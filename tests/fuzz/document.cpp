// Fuzz target: what the validator lets through can be walked, compared and printed.
#include "bson/validate.h"

#include <cstring>
#include <string>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "target.h"

namespace {

// Every value by every way to read it that its type allows; returns the bytes read.
size_t walk(bson::Doc doc) {
    size_t bytes = 5;
    for (const bson::Element& e : doc) {
        bytes += e.size();
        e.truthy();
        e.to_double();
        e.to_int64();
        e.canonical();
        bson::hash_value(e);
        switch (e.type()) {
            case bson::Type::object:
            case bson::Type::array:
                fuzz::expect(walk(e.as_doc()) == e.value_size(), "fields fill their document");
                break;
            case bson::Type::string:
            case bson::Type::symbol:
            case bson::Type::code:
                fuzz::expect(e.as_string().size() + 5 == e.value_size(), "texts have their size");
                break;
            case bson::Type::binary:
                fuzz::expect(e.binary_data().size() + 5 == e.value_size(), "binaries, too");
                break;
            case bson::Type::regex:
                fuzz::expect(
                    e.regex_pattern().size() + e.regex_flags().size() + 2 == e.value_size(),
                    "and regular expressions");
                break;
            case bson::Type::code_with_scope:
                fuzz::expect(e.code_text().size() + 9 + walk(e.code_scope()) == e.value_size(),
                             "and code with a scope");
                break;
            default:
                break;
        }
    }
    return bytes;
}

void use(bson::Doc doc) {
    fuzz::expect(walk(doc) == doc.bytes().size(), "fields fill the document");
    fuzz::expect(bson::compare_docs(doc, doc) == 0, "a document equals itself");
    fuzz::expect(bson::compare_keys(doc, doc, 0x5555) == 0, "and as a key, too");
    bson::to_text(doc);
    doc.field_count();
    for (const bson::Element& e : doc) {
        doc.at_path(e.name());
        doc.at_path(std::string(e.name()) + ".0");
    }
    bson::to_json(doc);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::vector<uint8_t> bytes(data, data + size);
    bool taken = false;
    for (const bson::Source source : {bson::Source::client, bson::Source::data_file}) {
        bson::Defect defect = bson::Defect::none;
        const std::string fault = bson::validate(bytes.data(), bytes.size(), &defect, source);
        fuzz::expect(fault.empty() == (defect == bson::Defect::none), "a fault has a kind");
        if (!fault.empty()) continue;
        taken = true;
        fuzz::as_operation([&] { use(bson::Doc(bytes.data())); });
    }
    return taken ? fuzz::kTaken : fuzz::kNoInput;
}
