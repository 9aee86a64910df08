#include "target.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "base/testing/fatal_handler.h"
#include "bson/validate.h"

namespace fuzz {

void broken(std::string_view promise) {
    std::fprintf(stderr, "BROKEN PROMISE: %.*s\n", static_cast<int>(promise.size()),
                 promise.data());
    std::abort();
}

void expect_document(std::span<const uint8_t> bytes, std::string_view promise) {
    const std::string fault = bson::validate(bytes.data(), bytes.size());
    if (!fault.empty()) broken(std::string(promise) + ": " + fault);
    expect(bson::Doc(bytes.data()).bytes().size() == bytes.size(), promise);
}

std::vector<bson::Object> documents(const uint8_t* data, size_t size) {
    std::vector<bson::Object> found;
    for (size_t at = 0; at < size; at += found.back().bytes().size()) {
        if (!bson::validate(data + at, size - at).empty()) return {};
        found.emplace_back(bson::Doc(data + at));
    }
    return found;
}

namespace {

[[noreturn]] void on_fatal(int id, std::string_view text) {
    broken("base::fatal " + std::to_string(id) + " " + std::string(text));
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    base::log::set_sink([](base::log::Severity, std::string_view) {});
    base::set_fatal_handler(fuzz::on_fatal);
    return 0;
}
