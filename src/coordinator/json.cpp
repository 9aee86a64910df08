// A transaction as etcd's gateway reads it, and its answer. Keys and values are base64.
#include <fmt/format.h>

#include "auth/crypto.h"
#include "base/error.h"
#include "bson/json.h"
#include "coordinator/etcd.h"

namespace coordinator {

namespace {

std::string quoted(std::string_view bytes) {
    return '"' + auth::to_base64(bytes) + '"';
}

std::string range(const election::Range& range) {
    return fmt::format("{{\"key\":{},\"range_end\":{}}}", quoted(range.begin), quoted(range.end));
}

// A key is absent where it has never been created; a value is compared byte for byte.
std::string compare(const election::Compare& compare) {
    const std::string what =
        compare.value ? fmt::format("\"target\":\"VALUE\",\"value\":{}", quoted(*compare.value))
                      : "\"target\":\"CREATE\",\"create_revision\":\"0\"";
    return fmt::format("{{\"key\":{},\"result\":\"EQUAL\",{}}}", quoted(compare.key), what);
}

[[noreturn]] void no_answer() {
    base::fail(base::kProtocolError, "its answer is none of etcd's");
}

std::string bytes_of(const bson::Element& e) {
    if (!e) return {};  // empty values are left out
    const auto bytes = e.is_string() ? auth::from_base64(e.as_string()) : std::nullopt;
    if (!bytes) no_answer();
    return *bytes;
}

}  // namespace

std::string to_request(const election::Transaction& transaction) {
    std::string compares, changes;
    const auto add = [](std::string& list, const std::string& item) {
        if (!list.empty()) list += ',';
        list += item;
    };
    for (const election::Compare& each : transaction.compares)
        add(compares, compare(each));
    for (const election::Put& put : transaction.puts)
        add(changes, fmt::format("{{\"requestPut\":{{\"key\":{},\"value\":{}}}}}", quoted(put.key),
                                 quoted(put.value)));
    for (const election::Range& removed : transaction.removes)
        add(changes, fmt::format("{{\"requestDeleteRange\":{}}}", range(removed)));
    const std::string read = fmt::format("{{\"requestRange\":{}}}", range(transaction.read));
    add(changes, read);
    return fmt::format("{{\"compare\":[{}],\"success\":[{}],\"failure\":[{}]}}", compares, changes,
                       read);
}

election::Answer from_answer(std::string_view json) {
    const bson::Object object = bson::from_json(json);
    const bson::Element responses = object.doc()["responses"];
    election::Answer answer;
    answer.succeeded = object.doc()["succeeded"].truthy();
    if (!responses.is_array()) no_answer();
    bool has_range = false;
    for (const bson::Element& response : responses.as_doc()) {
        const bson::Element range =
            response.is_object() ? response.as_doc()["response_range"] : bson::Element();
        if (!range) continue;
        if (!range.is_object()) no_answer();
        has_range = true;
        const bson::Element found = range.as_doc()["kvs"];
        if (!found) continue;
        if (!found.is_array()) no_answer();
        for (const bson::Element& pair : found.as_doc()) {
            if (!pair.is_object()) no_answer();
            answer.found[bytes_of(pair.as_doc()["key"])] = bytes_of(pair.as_doc()["value"]);
        }
    }
    if (!has_range) no_answer();
    return answer;
}

}  // namespace coordinator
