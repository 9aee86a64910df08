// query/update/testing/histories.h - random updates of random documents by every operator, and what
// a log of writes says of each.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bson/json.h"
#include "bson/testing/json.h"
#include "dialect/dialect.h"
#include "query/update/idempotent.h"

namespace query {

// A document with the fields of each object in the order of their names.
inline void append_sorted(bson::Builder& out, bson::Doc doc, bool is_array) {
    std::vector<bson::Element> fields;
    for (const bson::Element& e : doc)
        fields.push_back(e);
    if (!is_array) std::ranges::sort(fields, {}, [](const bson::Element& e) { return e.name(); });
    for (const bson::Element& e : fields) {
        if (!e.is_object() && !e.is_array()) {
            out.append(e);
            continue;
        }
        bson::Builder inner = e.is_array() ? out.sub_array(e.name()) : out.sub_object(e.name());
        append_sorted(inner, e.as_doc(), e.is_array());
    }
}
// Its text, whatever the order of its fields.
inline std::string values(bson::Doc doc) {
    bson::Builder sorted;
    append_sorted(sorted, doc, false);
    return bson::to_text(sorted.doc());
}

struct Step {
    std::string update;
    bson::Object form;
    bson::Object after;
};

// False: the update changes nothing, or is refused.
inline bool take_step(const bson::Object& before, const std::string& text,
                      const std::string& filters, Step* step) {
    const bson::Object spec = bson::parse_test_json(text);
    const bson::Object array_filters =
        bson::parse_test_json(fmt::format(R"({{"f": [{}]}})", filters));
    step->update = text;
    try {
        Update::Options options{.dialect = dialect::kToday};
        if (!filters.empty()) options.array_filters = array_filters.doc()["f"];
        const auto update = Update::parse(spec.doc(), options);
        MatchDetails details;
        details.has_index = true;
        details.array_index = 0;
        bson::Buffer out;
        const UpdateResult result = update->apply(before.doc(), details, out);
        if (!result.changed) return false;
        step->after = bson::Object(updated_document(before.doc(), result, out));
        bson::Buffer form;
        step->form = bson::Object(idempotent_form(*update, result, before.doc(), out, form));
        return true;
    } catch (const base::Error&) {
        return false;
    }
}

class Histories {
  public:
    explicit Histories(uint32_t seed) : random_(seed) {}

    std::string document() {
        std::string fields = fmt::format(R"("_id": {})", below(100));
        for (const char* name : {"a", "b", "c", "d"})
            if (below(3) != 0) fields += fmt::format(R"(, "{}": {})", name, value(2));
        return "{" + fields + "}";
    }
    // An update, and the filters that its paths name.
    std::pair<std::string, std::string> update() {
        if (below(15) == 0) return {document_without_id(), ""};
        if (below(12) == 0)
            return {fmt::format(R"({{"$set": {{"{}.$[x]{}": {}}}}})", top(),
                                below(2) == 0 ? "" : ".n", value(1)),
                    below(2) == 0 ? R"({"x": {"$ne": 3}})" : R"({"x.n": {"$exists": true}})"};
        std::string operators;
        const int count = 1 + below(3);
        for (int i = 0; i < count; ++i)
            operators += (i == 0 ? "" : ", ") + one_operator();
        return {"{" + operators + "}", ""};
    }

  private:
    int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
    std::string top() { return std::string(1, static_cast<char>('a' + below(5))); }
    std::string path() {
        switch (below(6)) {
            case 0:
                return top() + ".n";
            case 1:
                return fmt::format("{}.{}", top(), below(4));
            case 2:
                return fmt::format("{}.{}.n", top(), below(3));
            case 3:
                return top() + ".n.m";
            case 4:
                return top() + (below(2) == 0 ? ".$" : "");
            default:
                return top();
        }
    }
    std::string number() {
        constexpr const char* kNumbers[] = {R"({"$numberInt": "1"})", R"({"$numberInt": "7"})",
                                            R"({"$numberLong": "9"})",
                                            R"({"$numberInt": "-2147483648"})", "2.5"};
        return kNumbers[below(5)];
    }
    std::string value(int depth) {
        switch (below(depth > 0 ? 7 : 4)) {
            case 0:
                return "\"text\"";
            case 1:
                return "null";
            case 2:
                return "true";
            case 3:
                return number();
            case 4:
                return fmt::format(R"({{"n": {}, "m": {}}})", value(depth - 1), value(depth - 1));
            default:
                return array(depth - 1);
        }
    }
    std::string array(int depth) {
        std::string out;
        for (int i = below(4); i > 0; --i)
            out += value(depth) + (i > 1 ? ", " : "");
        return "[" + out + "]";
    }
    std::string document_without_id() {
        return fmt::format(R"({{"{}": {}, "z": {}}})", top(), value(2), value(1));
    }
    std::string one_operator() {
        switch (below(16)) {
            case 0:
            case 1:
                return named("$set", value(2));
            case 2:
                return named("$unset", "true");
            case 3:
                return named("$inc", number());
            case 4:
                return named("$mul", number());
            case 5:
                return named(below(2) == 0 ? "$min" : "$max", value(0));
            case 6:
                return named("$bit", R"({"or": {"$numberInt": "12"}})");
            case 7:
                return named("$push", value(1));
            case 8:
                return named("$push", fmt::format(R"({{"$each": {}, "$slice": {}, "$sort": 1}})",
                                                  array(0), below(7) - 3));
            case 9:
                return named("$pushAll", array(1));
            case 10:
                return named("$addToSet", fmt::format(R"({{"$each": {}}})", array(1)));
            case 11:
                return named("$pop", below(2) == 0 ? "1" : "-1");
            case 12:
                return named("$pull", value(0));
            case 13:
                return named("$pullAll", array(0));
            case 14:
                return named("$currentDate", "true");
            default:
                return fmt::format(R"("$rename": {{"{}": "{}"}})", top() + (below(3) ? "" : ".n"),
                                   top() + (below(3) ? "" : ".m"));
        }
    }
    std::string named(const char* name, const std::string& operand) {
        return fmt::format(R"("{}": {{"{}": {}}})", name, path(), operand);
    }

    std::mt19937 random_;
};

}  // namespace query
