// Tables of values, names and operators from which the random cases are made. A seed takes a few of
// each, so that what is asked for meets what is stored.
#include <algorithm>

#include "command/commands/testing/differential.h"

namespace command::differential {

namespace {

using Texts = std::vector<const char*>;

// JSON with ' for ". The values are in groups of those that are near each other: equal, next, of
// one class.
const Texts kCommon = {"0", "1", "1", "2", "3", "'x'", "null"};
const Texts kLarge = {
    "{'$numberLong': '9007199254740992'}",  // 2^53, where longs pass doubles
    "{'$numberDouble': '9007199254740992'}",    "{'$numberLong': '9007199254740993'}",
    "{'$numberLong': '9007199254740994'}",      "{'$numberLong': '-9007199254740993'}",
    "{'$numberLong': '9223372036854775807'}",   "{'$numberLong': '-9223372036854775808'}",
    "{'$numberDouble': '9223372036854775808'}", "{'$numberDouble': '-9223372036854775808'}"};
const std::vector<Texts> kGroups = {
    kLarge,
    {"0.5", "1.5", "{'$numberLong': '1'}", "{'$numberDouble': '2.0'}", "-1"},
    {"{'$numberDouble': 'NaN'}", "{'$numberDouble': '-0.0'}", "{'$numberDouble': 'Infinity'}",
     "{'$numberDouble': '-Infinity'}", "{'$numberDouble': '1.7976931348623157e308'}",
     "{'$numberDouble': '5e-324'}"},
    {"{'$numberDecimal': '1'}", "{'$numberDecimal': '0.1'}", "{'$numberDecimal': 'NaN'}",
     "{'$numberDecimal': '1E+400'}", "{'$numberDecimal': '9007199254740993'}", "0.1"},
    {"''", "'xy'", "'y'", "{'$symbol': 'x'}", "'x\\u0000y'", "'\xc3\xa9'", "'X'", "'Xy'"},
    {"null", "{'$undefined': true}", "[]", "{}", "[null]", "[[]]"},
    {"{'$minKey': 1}", "{'$maxKey': 1}", "[{'$minKey': 1}]", "{'$undefined': true}"},
    {"{'$date': {'$numberLong': '0'}}", "{'$date': {'$numberLong': '1000'}}",
     "{'$date': {'$numberLong': '-1000'}}", "{'$date': {'$numberLong': '-9223372036854775808'}}",
     "{'$date': {'$numberLong': '9223372036854775807'}}", "{'$timestamp': {'t': 1, 'i': 0}}",
     "{'$timestamp': {'t': 1, 'i': 1}}", "{'$timestamp': {'t': 4294967295, 'i': 4294967295}}"},
    // Clocks give such times: they stand in the order of all indexes.
    {"{'$date': {'$numberLong': '1600000000000'}}", "{'$date': {'$numberLong': '1600000000001'}}",
     "{'$timestamp': {'t': 1600000000, 'i': 1}}", "{'$timestamp': {'t': 1600000000, 'i': 2}}"},
    {"true", "false"},
    {"{'$oid': '507f1f77bcf86cd799439011'}", "{'$oid': '000000000000000000000000'}",
     "{'$oid': 'ffffffffffffffffffffffff'}", "{'$ref': 'c', '$id': 1}",
     "{'$ref': 'c', '$id': {'$oid': '507f1f77bcf86cd799439011'}}",
     "{'$dbPointer': {'$ref': 'c', '$id': {'$oid': '507f1f77bcf86cd799439011'}}}"},
    {"{'$binary': {'base64': '', 'subType': '00'}}",
     "{'$binary': {'base64': 'AAE=', 'subType': '00'}}",
     "{'$binary': {'base64': 'AAE=', 'subType': '05'}}"},
    {"{'$code': 'x'}", "{'$code': 'x', '$scope': {'a': 1}}",
     "{'$regularExpression': {'pattern': '^x', 'options': ''}}",
     "{'$regularExpression': {'pattern': 'x', 'options': 'i'}}"},
    {"{'b': 1}", "{'b': 1, 'c': 2}", "[1, 2]", "[[1, 2]]", "[1]", "[[1]]", "{'0': 1}"},
};
// Equal, and to $set another value.
const Texts kOnes = {"1", "{'$numberLong': '1'}", "{'$numberDouble': '1'}",
                     "{'$numberDecimal': '1'}"};
const Texts kPatterns = {"'^x'", "'x'", "'^xy$'", "'^'", "'^x|y'", "'[\\\\w-.]'", "'^X'"};

const Texts kTop = {"a", "a", "a", "a", "b"};
const Texts kBelow = {"b", "b", "c", "0", "0", "1"};

const Texts kSizes = {"0", "1", "2", "1.0", "{'$numberLong': '1'}"};
const Texts kTypes = {"1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",   "9",  "10",
                      "11", "13", "14", "15", "16", "17", "18", "127", "-1", "[16, 2, 10]"};
const Texts kMods = {"[2, 0]", "[2, 1]", "[1, 0]", "[{'$numberLong': '-1'}, 0]"};
const Texts kMasks = {"0",
                      "1",
                      "3",
                      "[]",
                      "[0, 63]",
                      "[64]",
                      "[200]",
                      "{'$numberLong': '9223372036854775807'}",
                      "{'$binary': {'base64': 'AAE=', 'subType': '00'}}"};
const Texts kFlags = {"true", "false"};
const Texts kDirections = {"1", "1", "-1"};
const Texts kCollations = {"{'locale': 'en', 'strength': 1}", "{'locale': 'en', 'strength': 2}",
                           "{'locale': 'en'}", "{'locale': 'de', 'caseFirst': 'upper'}"};
const Texts kLists = {"$or", "$or", "$and", "$nor"};

std::string json(std::string text) {
    std::ranges::replace(text, '\'', '"');
    return text;
}

std::string quoted(const std::string& word) {
    return '"' + word + '"';
}

}  // namespace

Generator::Generator(uint64_t seed) : random_(seed) {
    static constexpr Subject kSpecial[] = {Subject::flat, Subject::sphere, Subject::words};
    if (chance(30)) subject_ = kSpecial[below(3)];
    scalars_ = kCommon;
    for (int n = below(3); n >= 0; --n) {
        const Texts& group = kGroups[static_cast<size_t>(below(static_cast<int>(kGroups.size())))];
        has_large_ = has_large_ || group == kLarge;
        scalars_.insert(scalars_.end(), group.begin(), group.end());
    }
    depth_ = below(4);
    for (int n = 2 + below(2); n > 0; --n)
        places_.push_back(path(pick(kTop)));
}

Node Generator::any_of(const std::vector<const char*>& list) {
    return text(json(pick(list)));
}

Node Generator::scalar() {
    return any_of(chance(40) ? kCommon : scalars_);
}

// A field's value: arrays of none, one and more elements, in each other and in documents.
Node Generator::value(int depth) {
    const int kind = depth <= 0 ? 0 : below(12);
    if (kind < 4) return scalar();
    if (kind < 8) {
        Node made = object();
        for (int n = below(3); n > 0; --n)
            made.set(pick(kBelow), value(depth - 1));
        return made;
    }
    Node made = array();
    for (int n = kind - 8; n > 0; --n)
        made.push(value(depth - 1));
    return made;
}

// Downwards from `top`: a, a.b, a.0, a.0.b, ...
std::string Generator::path(std::string top) {
    for (int n = std::min(below(3), depth_); n > 0; --n)
        top += '.' + pick(kBelow);
    return top;
}

std::string Generator::place() {
    if (chance(3)) return "_id";
    std::string name = chance(80) ? pick(places_) : path(pick(kTop));
    const size_t dot = name.find('.');
    if (dot != std::string::npos && chance(25)) name.resize(dot);
    return name;
}

// Returns a path that begins in an element of an array.
std::string Generator::place_in_element() {
    const std::string name = pick(places_);
    const size_t dot = name.find('.');
    if (dot == std::string::npos || chance(40)) return path(pick(kBelow));
    return name.substr(dot + 1);
}

Node Generator::document(int id) {
    Node made = object();
    made.set("_id", text(std::to_string(id)));
    if (chance(90)) made.set("a", value(depth_));
    if (chance(50)) made.set("b", value(depth_));
    return made;
}

Node Generator::index() {
    Node key = object();
    const bool hashed = chance(12);
    for (int n = hashed ? 1 : 1 + below(3); n > 0; --n)
        key.set(place(), hashed ? text(quoted("hashed")) : any_of(kDirections));
    if (!hashed && chance(40)) key.set("_id", any_of(kDirections));
    Node made = object();
    made.set("key", std::move(key));
    if (!hashed && chance(20))
        made.set("sparse", text("true"));
    else if (chance(30))
        made.set("partialFilterExpression", partial_filter(2));
    if (!hashed && chance(15)) made.set("unique", text("true"));
    if (!hashed) add_collation(made);
    return made;
}

// Some of these are refused, for a regular expression among their values.
Node Generator::partial_filter(int depth) {
    static const Texts kComparisons = {"$eq", "$gt", "$gte", "$lt", "$lte"};
    if (depth > 0 && chance(25)) {
        Node parts = array();
        for (int n = 0; n < 2; ++n)
            parts.push(partial_filter(depth - 1));
        return object().set(chance(50) ? "$and" : "$or", std::move(parts));
    }
    const auto asked = [&]() -> Node {
        switch (below(6)) {
            case 0:
                return scalar();
            case 1:
                return object().set("$exists", text("true"));
            case 2:
                return object().set("$type", any_of(kTypes));
            case 3:
                return object().set("$in", list(0));
            default:
                return object().set(pick(kComparisons), scalar());
        }
    };
    Node made = object();
    made.set(place(), asked());
    if (chance(25)) made.set(place(), asked());
    return made;
}

// Few documents: most faults show only while an index has not seen an array of two elements yet.
void Generator::make_data(Case& out) {
    if (subject_ != Subject::values) return make_special_data(out);
    for (int i = 0, n = chance(85) ? 1 + below(6) : 7 + below(14); i < n; ++i)
        out.documents.push(document(i));
    for (int n = 1 + below(3); n > 0; --n) {
        out.indexes.push(index());
        const Node& made = out.indexes.members.back().value;
        keys_.push_back(*made.find("key"));
        if (const Node* partial = made.find("partialFilterExpression"))
            filters_.push_back(*partial);
    }
}

Node Generator::operand(int) {
    return chance(75) ? scalar() : value(2);
}

Node Generator::regex() {
    return text(
        json("{'$regularExpression': {'pattern': " + pick(kPatterns) + ", 'options': ''}}"));
}

Node Generator::list(int) {
    Node made = array();
    for (int n = below(4); n > 0; --n)
        made.push(chance(10) ? regex() : operand(0));
    return made;
}

Node Generator::list_for_all(int depth) {
    if (depth <= 0 || chance(50)) return list(depth);
    Node made = array();
    for (int n = 1 + below(2); n > 0; --n)
        made.push(object().set("$elemMatch", element(depth)));
    return made;
}

Node Generator::negated(int depth) {
    return chance(15) ? regex() : operators(depth);
}

// Makes the condition of $elemMatch on an element: on itself, or on what is in it.
Node Generator::element(int depth) {
    return chance(50) ? operators(depth - 1) : filter(depth - 1, true);
}

Node Generator::operators(int depth) {
    struct Operator {
        const char* name;
        int weight;
        Node (Generator::*operand)(int depth);
        const Texts* from = nullptr;  // in place of `operand`
    };
    static const std::vector<Operator> kOperators = {
        {"$gt", 3, &Generator::operand},        {"$gte", 3, &Generator::operand},
        {"$lt", 3, &Generator::operand},        {"$lte", 3, &Generator::operand},
        {"$ne", 3, &Generator::operand},        {"$eq", 1, &Generator::operand},
        {"$in", 4, &Generator::list},           {"$nin", 3, &Generator::list},
        {"$exists", 3, nullptr, &kFlags},       {"$type", 2, nullptr, &kTypes},
        {"$size", 2, nullptr, &kSizes},         {"$mod", 2, nullptr, &kMods},
        {"$regex", 1, nullptr, &kPatterns},     {"$all", 3, &Generator::list_for_all},
        {"$elemMatch", 8, &Generator::element}, {"$not", 4, &Generator::negated},
    };
    constexpr int kNested = 12;  // the weight of the last two, which need depth
    int all = 0;
    for (const Operator& one : kOperators)
        all += one.weight;
    Node made = object();
    for (int n = chance(25) ? 2 : 1; n > 0; --n) {
        int left = below(depth > 0 ? all : all - kNested);
        const Operator* chosen = kOperators.data();
        for (; left >= chosen->weight; ++chosen)
            left -= chosen->weight;
        made.set(chosen->name, chosen->from != nullptr ? any_of(*chosen->from)
                                                       : (this->*chosen->operand)(depth - 1));
    }
    return made;
}

Node Generator::filter(int depth, bool in_element) {
    Node made = object();
    for (int n = depth > 0 && chance(15) ? 0 : (chance(30) ? 2 : 1); n > 0; --n) {
        const std::string name = in_element ? place_in_element() : place();
        made.set(name, chance(30) ? (chance(8) ? regex() : operand(0)) : operators(depth));
    }
    if (made.members.empty() || (depth > 0 && chance(25))) {
        Node parts = array();
        for (int n = 1 + below(3); n > 0; --n)
            parts.push(filter(depth - 1, in_element));
        made.set(pick(kLists), std::move(parts));
    }
    return made;
}

Node Generator::filter() {
    Node made = filter(kFilterDepth, false);
    if (filters_.empty() || chance(50)) return made;
    // The filter of a partial index is one of the conditions, so that the index may be used.
    Node parts = array();
    parts.push(filters_[static_cast<size_t>(below(static_cast<int>(filters_.size())))]);
    if (chance(70)) parts.push(std::move(made));
    return object().set("$and", std::move(parts));
}

// A comparison of a field with what depends on no document, or with another field.
Node Generator::comparison() {
    static const Texts kComparisons = {"$eq", "$eq", "$lt", "$lte", "$gt", "$gte", "$ne"};
    Node field = text(quoted("$" + place()));
    Node other = chance(10) ? text(quoted("$" + place())) : object().set("$literal", operand(0));
    if (has_variable_ && chance(50)) other = text(R"("$$v")");
    if (chance(30)) std::swap(field, other);
    Node sides = array();
    sides.push(std::move(field)).push(std::move(other));
    return object().set(pick(kComparisons), std::move(sides));
}

// Makes the operand of $expr: one comparison, or several, as both ends of a range are.
Node Generator::expression() {
    if (chance(40)) return comparison();
    Node parts = array();
    for (int n = 2 + below(2); n > 0; --n)
        parts.push(comparison());
    return object().set(chance(85) ? "$and" : "$or", std::move(parts));
}

// Makes a filter that the old messages may not know.
Node Generator::filter_of_today() {
    static const Texts kBits = {"$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"};
    if (chance(80)) return filter();
    Node made = chance(50) ? object() : filter();
    if (chance(25)) return made.set(place(), object().set(pick(kBits), any_of(kMasks)));
    return made.set("$expr", expression());
}

// An order that leaves nothing open.
Node Generator::sort() {
    Node made = object();
    if (chance(50)) {
        // An index may give this order, forwards or backwards, behind fields that are points.
        const Node& key = keys_[static_cast<size_t>(below(static_cast<int>(keys_.size())))];
        const bool backward = chance(50);
        for (int i = below(2); i < static_cast<int>(key.members.size()); ++i) {
            const auto& [name, direction] = key.members[static_cast<size_t>(i)];
            made.set(name, text((direction.text == "-1") == backward ? "1" : "-1"));
        }
    } else {
        for (int n = below(3); n > 0; --n)
            made.set(place(), any_of(kDirections));
    }
    if (made.find("_id") == nullptr) made.set("_id", any_of(kDirections));
    return made;
}

Node Generator::find() {
    Node made = object();
    has_variable_ = chance(10);
    if (has_variable_) made.set("let", object().set("v", object().set("$literal", operand(0))));
    made.set("filter", has_variable_ ? object().set("$expr", expression()) : filter_of_today());
    has_variable_ = false;
    add_collation(made);
    if (chance(30)) {
        Node fields = object();
        if (chance(70)) fields.set("_id", text("0"));
        for (int n = 1 + below(2); n > 0; --n) {
            const std::string name = place();
            if (name != "_id") fields.set(name, text("1"));
        }
        if (chance(25)) fields.set("computed", text(quoted("$" + place())));
        made.set("projection", std::move(fields));
    }
    if (chance(50)) {
        made.set("sort", sort());
        if (chance(30)) made.set("limit", text(std::to_string(1 + below(3))));
        if (chance(20)) made.set("skip", text(std::to_string(below(3))));
    }
    return made;
}

void Generator::add_collation(Node& request) {
    if (chance(15)) request.set("collation", any_of(kCollations));
}

// Documents with those of their own collection that belong to them, one by one: their order in an
// array would be that of the index.
Node Generator::joined() {
    Node made = array();
    if (chance(50)) made.push(object().set("$match", filter_of_today()));
    Node lookup = object().set("from", text(R"("own")")).set("as", text(R"("joined")"));
    Node inner = array();
    const bool by_fields = chance(60);
    if (by_fields)
        lookup.set("localField", text(quoted(place()))).set("foreignField", text(quoted(place())));
    if (!by_fields || chance(30)) {
        lookup.set("let", object().set("v", text(quoted("$" + place()))));
        Node sides = array();
        sides.push(text(quoted("$" + place()))).push(text(R"("$$v")"));
        inner.push(
            object().set("$match", object().set("$expr", object().set("$eq", std::move(sides)))));
    }
    if (chance(30)) inner.push(object().set("$match", filter_of_today()));
    inner.push(object().set("$project", object().set("_id", text("1"))));
    lookup.set("pipeline", std::move(inner));
    made.push(object().set("$lookup", std::move(lookup)));
    made.push(object().set("$unwind", text(R"("$joined")")));
    return made;
}

Node Generator::stages() {
    if (chance(25)) return joined();
    Node made = array();
    if (chance(70)) made.push(object().set("$match", filter_of_today()));
    if (chance(60)) {
        made.push(
            object().set("$sort", chance(30) ? object().set("_id", any_of(kDirections)) : sort()));
        if (chance(20)) made.push(object().set("$skip", text(std::to_string(below(3)))));
        if (chance(50)) made.push(object().set("$limit", text(std::to_string(1 + below(3)))));
        if (chance(30)) {
            Node first = object().set("$first", text(quoted("$" + place())));
            made.push(object().set("$group",
                                   object().set("_id", text("null")).set("n", std::move(first))));
            return made;
        }
    }
    const std::string field = quoted("$" + place());
    if (chance(30)) made.push(object().set("$unwind", text(quoted("$" + pick(kTop)))));
    if (chance(50)) {
        made.push(object().set("$project", object().set(place(), text("1"))));
    } else if (chance(50)) {
        Node sum = object().set("$sum", text("1"));
        made.push(
            object().set("$group", object().set("_id", text(field)).set("n", std::move(sum))));
    }
    return made;
}

// A part of an index.
Node Generator::range() {
    const Node& key = keys_[static_cast<size_t>(below(static_cast<int>(keys_.size())))];
    const auto end = [&] {
        Node made = object();
        for (const auto& [name, ignored] : key.members)
            made.set(name, operand(0));
        return made;
    };
    Node made = object().set("filter", chance(50) ? object() : filter());
    const int ends = below(3);
    if (ends != 0) made.set("min", end());
    if (ends != 1) made.set("max", end());
    return made;
}

Node Generator::read() {
    if (subject_ != Subject::values) return special_read();
    const int kind = below(20);
    if (kind == 19 && !has_large_) return object().set("range", range());
    if (kind < 2) {
        Node count = object().set("query", filter_of_today());
        add_collation(count);
        return object().set("count", std::move(count));
    }
    if (kind < 4)
        return object().set(
            "distinct", object().set("key", text(quoted(place()))).set("query", filter_of_today()));
    if (kind < 6) {
        Node aggregate = object().set("pipeline", stages());
        // The first of equal texts stands for a group, and the ways may meet another one first.
        if (aggregate.json().find("$group") == std::string::npos) add_collation(aggregate);
        return object().set("aggregate", std::move(aggregate));
    }
    return object().set("find", find());
}

Node Generator::modifiers() {
    static const Texts kNames = {"$set",  "$set",  "$set",      "$unset",      "$inc",
                                 "$push", "$pull", "$addToSet", "$setOnInsert"};
    static const Texts kElements = {".$", ".$", ".$[]", ".$[e]", ".$[e].b"};
    Node made = object();
    for (int n = chance(20) ? 2 : 1; n > 0; --n) {
        std::string target = place();
        if (chance(40)) target += pick(kElements);
        Node change = object().set(target, chance(30) ? any_of(kOnes) : value(2));
        made.set(pick(kNames), std::move(change));
    }
    return made;
}

// Sets the update, and the array filters that it names; or makes it a pipeline.
void Generator::add_modifiers(const char* name, Node& request) {
    if (chance(20)) {
        Node fields = object();
        for (int n = 1 + below(2); n > 0; --n)
            fields.set(place(), chance(50) ? text(quoted("$" + place())) : text("1"));
        request.set(name, array().push(object().set("$set", std::move(fields))));
        return;
    }
    Node made = modifiers();
    if (made.json().find("$[e]") != std::string::npos) {
        const std::string asked = chance(50) ? "e" : "e." + pick(kBelow);
        Node filters = array();
        filters.push(object().set(asked, operators(1)));
        request.set("arrayFilters", std::move(filters));
    }
    request.set(name, std::move(made));
}

// Some documents are read, then others are changed, then the rest is read.
Node Generator::cursor() {
    Node change = object();
    Node q = chance(30) ? object() : filter();
    if (chance(50)) {
        change.set("delete", object().set("q", std::move(q)));
    } else {
        // Changes that move documents in the indexes and in the collection.
        const std::string pad(chance(30) ? 300 : 3, 'p');
        Node u =
            object().set("$set", object().set(pick(kTop), value(1)).set("pad", text(quoted(pad))));
        change.set(
            "update",
            object().set("q", std::move(q)).set("u", std::move(u)).set("multi", text("true")));
    }
    Node shown = chance(30) ? object() : filter();
    return object().set("filter", std::move(shown)).set("change", std::move(change));
}

Node Generator::write() {
    if (subject_ != Subject::values) return special_write();
    // Saved among keys without an order of their own a scan may find another place again; so there
    // one document is changed at a time.
    const int kind = has_large_ ? 5 + below(5) : below(10);
    if (kind < 2) return object().set("cursor", cursor());
    Node update = object();
    add_collation(update);
    if (kind < 3) return object().set("delete", update.set("q", filter_of_today()));
    if (kind < 5) {
        update.set("q", filter_of_today()).set("multi", text("true"));
        add_modifiers("u", update);
        return object().set("update", std::move(update));
    }
    if (kind < 7) {
        // The update may change any one of several, so all get the same.
        Node u = object();
        u.set("$set", object().set("n", text("1")));
        update.set("q", filter_of_today()).set("u", std::move(u)).set("upsert", any_of(kFlags));
        return object().set("update", std::move(update));
    }
    Node one = object();
    add_collation(one);
    one.set("query", filter_of_today()).set("sort", sort());
    if (chance(30)) return object().set("findAndModify", one.set("remove", text("true")));
    one.set("new", any_of(kFlags)).set("upsert", any_of(kFlags));
    add_modifiers("update", one);
    return object().set("findAndModify", std::move(one));
}

}  // namespace command::differential
