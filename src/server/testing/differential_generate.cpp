// What the random cases are made of. Few names and few values, so that things meet.
#include <fmt/core.h>

#include "server/testing/differential.h"

namespace server::differential {

namespace {

const std::string kScalars[] = {
    "0",
    "1",
    "2",
    "3",
    "1.5",
    R"({"$numberDouble": "2.0"})",
    "\"x\"",
    "\"xy\"",
    "\"y\"",
    "\"\"",
    "null",
    "true",
    "false",
    R"({"$numberLong": "9007199254740993"})",
    R"({"$numberLong": "9007199254740992"})",
    R"({"$numberDouble": "9007199254740992"})",
    R"({"$numberLong": "9223372036854775807"})",
    R"({"$numberLong": "-9223372036854775808"})",
    R"({"$numberDouble": "9223372036854775808"})",
    R"({"$numberDouble": "-Infinity"})",
    R"({"$date": {"$numberLong": "1000"}})",
    R"({"$date": {"$numberLong": "-1000"}})",
    R"({"$timestamp": {"t": 1, "i": 1}})",
    R"({"$oid": "507f1f77bcf86cd799439011"})",
};
const std::string kSimple[] = {"0", "1", "1", "2", "3", "\"x\"", "null"};
const std::string kNames[] = {"a", "b", "c"};
const std::string kInner[] = {"x", "y", "b"};
const std::string kPaths[] = {"a",     "b",     "a",     "b",   "c",     "a.x",   "a.y",
                              "a.b",   "b.x",   "b.y",   "a.0", "a.b.x", "a.b.y", "a.0.x",
                              "b.0.x", "a.x.b", "a.x.0", "s",   "_id"};
const std::string kIndexPaths[] = {"a",   "b",   "c",   "a.x", "a.y", "a.b",   "a.b.x", "a.b.y",
                                   "a.0", "b.x", "b.y", "s",   "_id", "a.0.x", "a.x.b"};
// Around 2^53, where longs and doubles meet.
const std::string kLarge[] = {
    R"({"$numberLong": "9007199254740992"})",    R"({"$numberDouble": "9007199254740992"})",
    R"({"$numberLong": "9007199254740993"})",    R"({"$numberLong": "9007199254740994"})",
    R"({"$numberLong": "9223372036854775807"})", R"({"$numberDouble": "9223372036854775808"})",
};
const std::string kBelowArrays[] = {"a.b.x", "a.b.y", "a.b", "a.x"};
const std::string kPatterns[] = {"^x", "x", "^xy$", "^", "[\\\\w-.]", "y|x"};

}  // namespace

Node Generator::scalar() {
    if (theme_ == Theme::large_numbers && chance(75)) return text(pick(kLarge));
    return text(chance(65) ? pick(kSimple) : pick(kScalars));
}

Node Generator::value(int depth) {
    const int kind = depth <= 0 ? 0 : below(10);
    if (kind < 5) return scalar();
    if (kind < 7) {
        Node made = object();
        for (const std::string& name : kInner)
            if (chance(55)) made.add(name, value(depth - 1));
        return made;
    }
    Node made = array();
    for (int n = below(4); n > 0; --n)
        made.push(value(depth - 1));
    return made;
}

Node Generator::document(int id) {
    Node made = object();
    made.add("_id", text(std::to_string(id)));
    if (theme_ == Theme::nested_arrays) {
        Node outer = array();
        for (int n = below(3); n >= 0; --n) {
            Node inner = array();
            for (int m = below(3); m >= 0; --m)
                inner.push(object().add(chance(50) ? "x" : "y", text(pick(kSimple))));
            outer.push(object().add("b", std::move(inner)));
        }
        made.add("a", std::move(outer));
    }
    if (theme_ == Theme::large_numbers) made.add("a", scalar());
    for (const std::string& name : kNames)
        if (made.find(name) == nullptr && chance(75)) made.add(name, value(3));
    if (chance(80)) made.add("s", text(pick(kSimple)));
    return made;
}

Node Generator::index() {
    Node key = object();
    // Equal numbers from 2^53 on have different hashes, as in the old server.
    const int kind = theme_ == Theme::large_numbers ? 1 : below(10);
    if (kind == 0) {
        key.add(pick(kIndexPaths), text("\"hashed\""));
    } else {
        for (int n = 1 + below(3); n > 0; --n) {
            const std::string name =
                theme_ == Theme::nested_arrays && chance(70)
                    ? pick(kBelowArrays)
                    : (theme_ == Theme::large_numbers && chance(50) ? std::string("a")
                                                                    : pick(kIndexPaths));
            if (key.find(name) == nullptr) key.add(name, text(chance(70) ? "1" : "-1"));
        }
    }
    Node made = object();
    made.add("key", std::move(key));
    if (kind != 0 && chance(20)) made.add("sparse", text("true"));
    return made;
}

void Generator::make_data(Case& out) {
    static constexpr Theme kThemes[] = {Theme::any, Theme::any, Theme::nested_arrays,
                                        Theme::large_numbers};
    theme_ = kThemes[below(4)];
    for (int i = 0, n = 4 + below(25); i < n; ++i)
        out.documents.push(document(i));
    for (int n = 1 + below(4); n > 0; --n)
        out.indexes.push(index());
}

std::string Generator::path() {
    if (theme_ != Theme::any && chance(50)) return "a";
    return pick(kPaths);
}

Node Generator::values(int most) {
    Node list = array();
    for (int n = below(most + 1); n > 0; --n)
        list.push(chance(80) ? scalar() : value(2));
    return list;
}

Node Generator::elem_match(int depth) {
    if (theme_ == Theme::nested_arrays && chance(60))
        return object().add("$elemMatch", object().add("b.x", scalar()).add("b.y", scalar()));
    if (chance(35)) return object().add("$elemMatch", predicate(depth - 1, true));
    Node inner = object();
    if (depth > 0 && chance(20)) {
        Node list = array();
        for (int n = 1 + below(2); n > 0; --n)
            list.push(object().add(pick(kInner), predicate(depth - 1, false)));
        inner.add(chance(50) ? "$and" : "$or", std::move(list));
    }
    static const std::string kBelow[] = {"x", "y", "b", "b.x", "b.y", "x.b", "0"};
    for (int n = 1 + below(2); n > 0; --n) {
        const std::string name = pick(kBelow);
        if (inner.find(name) == nullptr)
            inner.add(name, chance(60) ? scalar() : predicate(depth - 1, false));
    }
    return object().add("$elemMatch", std::move(inner));
}

// Operators of a field; `in_element`: directly below an $elemMatch, where a plain value is none.
Node Generator::predicate(int depth, bool in_element) {
    static const std::string kRanges[] = {"$gt", "$gte", "$lt", "$lte"};
    switch (below(depth > 0 ? 16 : 12)) {
        case 0:
        case 1:
            return in_element ? object().add("$gte", scalar()) : value(1);
        case 2:
        case 3: {
            Node range = object();
            range.add(pick(kRanges), scalar());
            if (chance(40)) {
                const std::string other = pick(kRanges);
                if (range.find(other) == nullptr) range.add(other, scalar());
            }
            return range;
        }
        case 4:
            return object().add("$in", values(4));
        case 5:
            return object().add("$nin", values(3));
        case 6:
            return object().add("$ne", chance(80) ? scalar() : value(1));
        case 7:
            return object().add("$exists", text(chance(50) ? "true" : "false"));
        case 8: {
            static const std::string kSizes[] = {
                "0", "1", "2", R"({"$numberLong": "-9223372036854775808"})", "1.5"};
            return object().add("$size", text(pick(kSizes)));
        }
        case 9: {
            static const std::string kTypes[] = {"1", "2", "3", "4", "9", "10", "16", "17", "18"};
            // Not by itself, which JSON takes for a binary value.
            return object().add("$exists", text("true")).add("$type", text(pick(kTypes)));
        }
        case 10:
            return object().add("$mod", array().push(text("2")).push(text(chance(50) ? "0" : "1")));
        case 11:
            return object().add("$regex", text('"' + pick(kPatterns) + '"'));
        case 12:
            return object().add("$not", object().add(pick(kRanges), scalar()));
        case 13:
            if (chance(50)) return object().add("$all", values(2));
            return object().add("$all",
                                array().push(elem_match(depth - 1)).push(elem_match(depth - 1)));
        case 14:
            return object().add("$not", elem_match(depth - 1));
        default:
            return elem_match(depth - 1);
    }
}

Node Generator::filter(int depth) {
    Node made = object();
    // One element of the outer array, which the fields of an index below it may not agree on.
    if (theme_ == Theme::nested_arrays && chance(25)) return made.add("a", elem_match(1));
    for (int n = below(3) + (depth > 1 ? 0 : 1); n > 0; --n) {
        const std::string name = path();
        if (made.find(name) == nullptr) made.add(name, predicate(2, false));
    }
    if (depth > 0 && (made.members.empty() || chance(35))) {
        static const std::string kLogical[] = {"$or", "$or", "$and", "$nor"};
        Node list = array();
        for (int n = 1 + below(3); n > 0; --n)
            list.push(filter(depth - 1));
        made.add(pick(kLogical), std::move(list));
    }
    return made;
}

// In an order that is the same for all ways: by a field without arrays, then by _id.
Node Generator::with_sort(Node find) {
    Node sort = object();
    if (chance(60)) sort.add("s", text(chance(50) ? "1" : "-1"));
    sort.add("_id", text(chance(50) ? "1" : "-1"));
    find.add("sort", std::move(sort));
    if (chance(50)) find.add("limit", text(std::to_string(1 + below(5))));
    if (chance(30)) find.add("skip", text(std::to_string(below(4))));
    return find;
}

Node Generator::stages() {
    Node list = array();
    list.push(object().add("$match", filter(1)));
    if (chance(40)) {
        list.push(object().add("$sort", object().add("s", text("1")).add("_id", text("1"))));
        if (chance(50)) list.push(object().add("$limit", text(std::to_string(1 + below(6)))));
    }
    if (chance(30)) list.push(object().add("$unwind", text("\"$" + pick(kNames) + '"')));
    if (chance(50)) {
        list.push(object().add("$project", object().add("s", text("1")).add(path(), text("1"))));
    } else if (chance(50)) {
        list.push(object().add("$group", object()
                                             .add("_id", text("\"$" + pick(kNames) + '"'))
                                             .add("n", object().add("$sum", text("1")))));
    }
    return list;
}

Node Generator::read() {
    const int kind = below(20);
    if (kind < 2) return object().add("count", object().add("query", filter(2)));
    if (kind < 4)
        return object().add("distinct",
                            object().add("key", text('"' + path() + '"')).add("query", filter(1)));
    if (kind < 6) return object().add("aggregate", stages());
    Node find = object().add("filter", filter(2));
    if (chance(35)) {
        Node fields = object();
        if (chance(60)) fields.add("_id", text("0"));
        const std::string name = pick(kIndexPaths);
        if (name != "_id") fields.add(name, text("1"));
        if (chance(40) && fields.find("s") == nullptr) fields.add("s", text("1"));
        find.add("projection", std::move(fields));
    }
    if (chance(40)) find = with_sort(std::move(find));
    return object().add("find", std::move(find));
}

Node Generator::modifiers() {
    static const std::string kTargets[] = {
        "a",   "b",     "c",   "s",     "a.x",   "a.b", "b.x", "a.0",   "a.0.x", "a.$",
        "b.$", "a.$.x", "c.$", "a.$.b", "b.$.y", "n",   "n.m", "a.b.x", "a.1"};
    Node made = object();
    for (int n = 1 + below(2); n > 0; --n) {
        const std::string target = pick(kTargets);
        Node modifier = object();
        std::string name;
        switch (below(8)) {
            case 0:
                name = "$unset";
                modifier.add(target, text("1"));
                break;
            case 1:
                name = "$inc";
                modifier.add(target, text("1"));
                break;
            case 2:
                name = "$push";
                modifier.add(target, value(1));
                break;
            case 3:
                name = "$pull";
                modifier.add(target, scalar());
                break;
            case 4:
                name = "$setOnInsert";
                modifier.add(target, scalar());
                break;
            case 5:
                if (target.find('$') == std::string::npos) {
                    name = "$rename";
                    modifier.add(target, text("\"r\""));
                    break;
                }
                [[fallthrough]];
            default:
                name = "$set";
                modifier.add(target, value(2));
                break;
        }
        if (made.find(name) == nullptr) made.add(name, std::move(modifier));
    }
    return made;
}

Node Generator::write() {
    // Saved among keys without an order of their own a scan may find another place again; so there
    // one document is changed at a time.
    const bool one_only = theme_ == Theme::large_numbers;
    const int kind = one_only ? 9 : below(10);
    if (kind < 2) return object().add("delete", object().add("q", filter(2)));
    if (kind < 5) {
        Node change = object();
        if (chance(50)) {
            change.add("delete", object().add("q", chance(30) ? object() : filter(1)));
        } else {
            // Changes that move documents in the indexes and in the collection.
            Node u = object();
            u.add("$set",
                  object()
                      .add(pick(kNames), value(1))
                      .add("pad", text('"' + std::string(chance(30) ? 300 : 3, 'p') + '"')));
            change.add("update", object()
                                     .add("q", chance(30) ? object() : filter(1))
                                     .add("u", std::move(u))
                                     .add("multi", text("true")));
        }
        return object().add("cursor", object()
                                          .add("filter", chance(30) ? object() : filter(1))
                                          .add("change", std::move(change)));
    }
    Node update = object();
    const bool multi = !one_only && chance(50);
    Node q = filter(1);
    if (!multi && q.find("_id") != nullptr) q = object();  // which of several is left open
    if (!multi) q.add("_id", text(std::to_string(below(10))));
    update.add("q", std::move(q)).add("u", modifiers());
    if (multi) update.add("multi", text("true"));
    return object().add("update", std::move(update));
}

}  // namespace server::differential
