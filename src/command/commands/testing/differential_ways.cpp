#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "bson/compare.h"
#include "catalog/index_keys.h"
#include "command/commands/testing/differential.h"
#include "command/commands/testing/differential_right.h"

namespace command::differential {

namespace {

constexpr int kFirstBatch = 3;
constexpr const char* kIdKey = R"({"_id")";
constexpr const char* kForward = R"({"$natural": 1})";

// One engine with the commands over it.
class Server final : public ServiceTest {
  public:
    explicit Server(TestEngine engine) : ServiceTest(false, engine) {
        context_.test_commands = true;  // _indexKeys
    }
    void TestBody() override {}
    using TestConnection::code;
    using TestConnection::cursor_;
    using TestConnection::get_more;
    using TestConnection::query;
    using TestConnection::run;
};

// The way in which a collection is asked. An empty hint leaves the choice to the planner.
struct Way {
    std::string collection;
    std::string hint;      // JSON
    bool partial = false;  // an index that is hinted leaves out what it does not hold

    std::string name() const {
        return fmt::format("collection '{}'{}{}", collection, hint.empty() ? "" : ", hint ", hint);
    }
};

// The result of a way: two ways that gave the same have the same texts.
struct Outcome {
    std::vector<std::string> texts;
    int error = 0;

    std::string show() const {
        std::string out = error == 0 ? "" : fmt::format("error {}\n", error);
        for (const std::string& one : texts)
            out += one + '\n';
        return out;
    }
    // Any error is as good as another.
    bool same(const Outcome& other) const {
        return (error == 0) == (other.error == 0) && texts == other.texts;
    }
    bool is_part_of(const Outcome& all) const {
        auto rest = all.texts.begin();
        for (const std::string& one : texts) {
            rest = std::find(rest, all.texts.end(), one);
            if (rest == all.texts.end()) return false;
            ++rest;
        }
        return true;
    }
};

// Two equal numbers of different types are one value to $group and distinct, which show the first.
std::string text_of_value(const bson::Element& e) {
    if (e.is_number()) return fmt::format("{}", e.to_double() + 0.0);  // without -0
    if (!e.is_object() && !e.is_array()) return bson::to_text(e);
    std::string out = e.is_array() ? "[" : "{";
    for (const bson::Element& member : e.as_doc())
        out += std::string(member.name()) + ":" + text_of_value(member) + ",";
    return out + (e.is_array() ? "]" : "}");
}

// A document that an index covers has the order of the index's fields.
std::string text_of_projected(const bson::Element& e) {
    std::vector<std::string> fields;
    for (const bson::Element& member : e.as_doc())
        fields.push_back(fmt::format("{}: {}", member.name(), bson::to_text(member)));
    std::ranges::sort(fields);
    return fmt::format("{{ {} }}", fmt::join(fields, ", "));
}

std::vector<std::string> names_of(const bson::Object& doc) {
    std::vector<std::string> names;
    for (const bson::Element& e : doc)
        names.emplace_back(e.name());
    return names;
}

int error_of(const bson::Object& reply) {
    const bson::Element errors = reply["writeErrors"];
    if (errors.is_array()) return errors.as_doc().first().as_doc()["code"].to_int32();
    return Server::code(reply);
}

// Errors that only an index can raise: the collection without it can't agree. Parallel arrays, a
// duplicate, an array or a decimal in a hashed field, a key that is too long, ambiguous paths; what
// is no place; an array before words, or their language.
bool raised_by_index(int code) {
    static const std::set<int> kCodes = {171,   11000, 16766, 67,    17280, 16746, 13026, 13027,
                                         13068, 16754, 16755, 16804, 16675, 17261, 17262};
    return kCodes.contains(code);
}

}  // namespace

struct Ways::State {
    explicit State(TestEngine engine) : server(engine) {
        run(R"({"create": "view", "viewOn": "all", "pipeline": []})");
        run(R"({"create": "filtered", "viewOn": "view",
                "pipeline": [{"$match": {"_id": {"$exists": true}}}]})");
    }

    Server server;
    std::vector<std::string> indexes;  // their definitions, by name
    std::vector<bool> partial;         // or sparse
    Case data;

    bson::Object run(const std::string& command) {
        return server.run(bson::parse_test_json(command));
    }

    static std::string alone(size_t index) { return "only" + std::to_string(index); }

    bool create(const std::string& collection, size_t index) {
        return Server::code(run(fmt::format(R"({{"createIndexes": "{}", "indexes": [{}]}})",
                                            collection, indexes[index]))) == 0;
    }
    void drop(const std::string& collection) {
        run(fmt::format(R"({{"drop": "{}"}})", collection));
    }
    void fill(const std::string& collection) {
        run(fmt::format(R"({{"insert": "{}", "documents": {}}})", collection,
                        data.documents.json()));
    }

    void load(Case& given) {
        data.documents = given.documents;
        for (const char* name : {"none", "all"}) {
            drop(name);
            fill(name);
        }
        indexes.clear();
        partial.clear();
        Node built = array();
        std::set<std::string> keys;
        for (auto& [ignored, index] : given.indexes.members) {
            // One on _id every collection has, under its own name.
            const Node* key = index.find("key");
            if (key == nullptr || key->json().starts_with(kIdKey)) continue;
            if (!keys.insert(key->json()).second) continue;
            Node named = index;
            named.set("name", text(fmt::format("\"n{}\"", indexes.size())));
            indexes.push_back(named.json());
            if (create("all", indexes.size() - 1)) {
                const std::string kinds = key->json();
                partial.push_back(index.find("sparse") != nullptr ||
                                  index.find("partialFilterExpression") != nullptr ||
                                  kinds.find("\"2d") != std::string::npos ||
                                  kinds.find("\"text\"") != std::string::npos);
                built.push(index);
            } else {
                indexes.pop_back();
            }
        }
        given.indexes = std::move(built);
        // Here the indexes come first, so that each document adds its keys one by one.
        for (size_t i = 0; i < indexes.size(); ++i) {
            drop(alone(i));
            create(alone(i), i);
            fill(alone(i));
        }
    }

    // The first one is right.
    std::vector<Way> ways(bool with_hints, bool with_views) const {
        std::vector<Way> all = {{"none", with_hints ? kForward : ""}, {"all", ""}};
        if (with_views) all.insert(all.end(), {{"view", ""}, {"filtered", ""}});
        if (with_hints) all.push_back({"all", R"({"$natural": -1})"});
        for (size_t i = 0; i < indexes.size(); ++i) {
            all.push_back({alone(i), ""});
            if (with_hints) all.push_back({"all", fmt::format("\"n{}\"", i), partial[i]});
        }
        return all;
    }

    static bson::Doc batch_of(const bson::Object& reply, const char* path = "cursor.firstBatch") {
        const bson::Element batch = reply.doc().at_path(path);
        return batch.is_array() ? batch.as_doc() : bson::Doc();
    }
    static std::vector<std::string> texts_of(bson::Doc batch,
                                             std::string (*show)(const bson::Element&)) {
        std::vector<std::string> all;
        for (const bson::Element& one : batch)
            all.push_back(show(one));
        return all;
    }
    static std::string text_of(const bson::Element& e) { return bson::to_text(e); }
    // The server makes an ObjectId where an upsert gives none.
    static std::string text_without_made_id(const bson::Element& e) {
        std::string text = bson::to_text(e);
        const bson::Element id = e.as_doc()["_id"];
        if (id.type() == bson::Type::object_id) {
            const std::string made = bson::to_text(id);
            text.replace(text.find(made), made.size(), "made");
        }
        return text;
    }

    Outcome read(const Way& way, const std::string& what, const Node& arguments) {
        Node command = object();
        command.set(what, text('"' + way.collection + '"'));
        if (what == "aggregate") {
            const Node* const pipeline = arguments.find("pipeline");
            std::string stages = (pipeline == nullptr ? arguments : *pipeline).json();
            constexpr std::string_view kOwn = R"("own")";
            if (const size_t at = stages.find(kOwn); at != std::string::npos)
                stages.replace(at, kOwn.size(), '"' + way.collection + '"');
            command.set("pipeline", text(stages)).set("cursor", text(R"({"batchSize": 1000})"));
            if (const Node* collation = arguments.find("collation"))
                command.set("collation", *collation);
        } else {
            for (const auto& [name, value] : arguments.members)
                command.set(name, value);
        }
        if (what == "find") command.set("batchSize", text("1000"));
        if (!way.hint.empty()) command.set("hint", text(way.hint));
        const bson::Object reply = run(command.json());
        Outcome out;
        out.error = error_of(reply);
        if (what == "count") {
            out.texts = {bson::to_text(reply["n"])};
            return out;
        }
        if (what == "distinct") {
            out.texts = texts_of(batch_of(reply, "values"), text_of_value);
            std::ranges::sort(out.texts);
            out.texts.erase(std::unique(out.texts.begin(), out.texts.end()), out.texts.end());
            return out;
        }
        const bool grouped = arguments.json().find("$group") != std::string::npos;
        const bool projected = what == "find" && arguments.find("projection") != nullptr;
        out.texts = texts_of(batch_of(reply),
                             grouped ? text_of_value : (projected ? text_of_projected : text_of));
        if (grouped || arguments.json().find("sort\"") == std::string::npos)
            std::ranges::sort(out.texts);
        return out;
    }

    Searched searched() {
        Searched made{[this](const std::string& command) { return run(command); }, {{"none", {}}}};
        made.holders.push_back({"all", {}});
        for (size_t i = 0; i < indexes.size(); ++i) {
            const bson::Object definition = bson::parse_test_json(indexes[i]);
            made.holders[1].indexes.push_back(definition);
            made.holders.push_back({alone(i), {definition}});
        }
        return made;
    }

    // Returns which index has not followed the writes; empty: each has the keys that it gets when
    // it is built now.
    std::string stale_index(const std::string& collection) {
        const auto keys = [&](size_t i) {
            return bson::to_text(run(
                fmt::format(R"({{"_indexKeys": "{}", "hint": "n{}"}})", collection, i))["keys"]);
        };
        const auto all_keys = [&] {
            std::vector<std::string> all;
            for (size_t i = 0; i < indexes.size(); ++i)
                if (collection == "all" || collection == alone(i)) all.push_back(keys(i));
            return all;
        };
        const std::vector<std::string> before = all_keys();
        const bson::Object report =
            run(fmt::format(R"({{"validate": "{}", "full": true}})", collection));
        if (!report["valid"].truthy()) return bson::to_text(report);
        if (Server::code(run(fmt::format(R"({{"reIndex": "{}"}})", collection))) != 0)
            return "cannot be built again";
        const std::vector<std::string> after = all_keys();
        for (size_t i = 0; i < before.size(); ++i)
            if (before[i] != after[i])
                return fmt::format("has\n{}\nand built now\n{}", before[i], after[i]);
        return "";
    }

    // Returns the documents that a collection scan finds.
    std::vector<std::string> matching(const Way& way, const std::string& filter,
                                      std::string (*show)(const bson::Element&) = text_of) {
        const bson::Object reply =
            run(fmt::format(R"({{"find": "{}", "filter": {}, "batchSize": 1000, "hint": {}}})",
                            way.collection, filter, kForward));
        return texts_of(batch_of(reply), show);
    }

    bson::Object change(const Way& way, const std::string& what, const Node& arguments) {
        if (what == "findAndModify") {
            Node command = object();
            command.set(what, text('"' + way.collection + '"'));
            for (const auto& [name, value] : arguments.members)
                command.set(name, value);
            return run(command.json());
        }
        Node item = arguments;
        if (what == "delete") item.set("limit", text("0"));
        return run(fmt::format(R"({{"{}": "{}", "{}": [{}]}})", what, way.collection,
                               what == "delete" ? "deletes" : "updates", item.json()));
    }

    Outcome write(const Way& way, const std::string& what, const Node& arguments) {
        const bson::Object reply = change(way, what, arguments);
        Outcome out;
        out.error = error_of(reply);
        std::vector<std::string> after = matching(way, "{}", text_without_made_id);
        std::ranges::sort(after);
        const bool several = arguments.find("multi") != nullptr;
        if (what == "update" && !several) {
            // The update may change any one of them.
            after = {std::to_string(after.size())};
        } else if (several && out.error != 0) {
            after.clear();  // what came first is done
        }
        out.texts = std::move(after);
        // The keys must have followed.
        const Node* filter = arguments.find(what == "findAndModify" ? "query" : "q");
        if (!out.texts.empty() && filter != nullptr) {
            const Outcome found = read(way, "count", object().set("query", *filter));
            std::ranges::copy(found.texts, std::back_inserter(out.texts));
        }
        for (const char* field : {"n", "nModified"})
            if (reply[field]) out.texts.push_back(bson::to_text(reply[field]));
        if (reply["value"].is_object()) out.texts.push_back(text_without_made_id(reply["value"]));
        return out;
    }

    // Returns the fault of the part of an index between two keys; empty: there is none.
    std::string follow_range(const Node& arguments) {
        const Node* filter = arguments.find("filter");
        const Node* min = arguments.find("min");
        const Node* max = arguments.find("max");
        if (filter == nullptr || (min == nullptr && max == nullptr)) return "";
        const bson::Object shape = bson::parse_test_json((min == nullptr ? max : min)->json());
        for (size_t i = 0; i < indexes.size(); ++i) {
            const bson::Object spec = bson::parse_test_json(indexes[i]);
            const auto generator = catalog::KeyGenerator::make(spec);
            const bool by_bytes = !generator->hashed() && spec["collation"].missing();
            if (!by_bytes || generator->fields() != names_of(shape)) continue;
            const bson::Object reply =
                run(fmt::format(R"({{"find": "none", "filter": {}}})", filter->json()));
            Outcome right;
            for (const bson::Element& doc : batch_of(reply)) {
                catalog::KeySet keys;
                generator->keys(doc.as_doc(), keys);
                const auto below = [&](const bson::Doc& key, const Node& end) {
                    return bson::compare_keys(key, bson::parse_test_json(end.json()),
                                              generator->descending_bits()) < 0;
                };
                for (size_t k = 0; k < keys.size(); ++k) {
                    if ((min != nullptr && below(keys[k], *min)) ||
                        (max != nullptr && !below(keys[k], *max)))
                        continue;
                    right.texts.push_back(bson::to_text(doc));
                    break;
                }
            }
            std::ranges::sort(right.texts);
            for (const Way& way : {Way{alone(i), ""}, Way{"all", fmt::format("\"n{}\"", i)}}) {
                const Outcome out = read(way, "find", arguments);
                if (out.error == 0 && !out.same(right))
                    return fmt::format("by its keys:\n{}\n{}:\n{}", right.show(), way.name(),
                                       out.show());
            }
        }
        return "";
    }

    // Returns the fault of a cursor that lives through a change; empty: there is none.
    std::string follow_cursor(const Way& way, const Node& arguments) {
        const std::string filter = arguments.find("filter")->json();
        std::vector<std::string> first;
        std::vector<std::string> rest;
        const auto take = [](const std::vector<bson::Object>& batch,
                             std::vector<std::string>& out) {
            for (const bson::Object& doc : batch)
                out.push_back(bson::to_text(doc));
        };
        const std::string ns = "test." + way.collection;
        int64_t id = 0;
        const auto by_command = [&](const std::string& command, const char* batch,
                                    std::vector<std::string>& out) {
            const bson::Object reply = run(command);
            id = reply.doc().at_path("cursor.id").to_int64();
            for (std::string& one : texts_of(batch_of(reply, batch), text_of))
                out.push_back(std::move(one));
        };
        // Old messages and commands alternately; the old ones refuse a $regex below $not.
        const bool old =
            data.documents.members.size() % 2 == 1 && filter.find("$regex") == std::string::npos;
        if (old) {
            take(server.query(ns, bson::parse_test_json(R"({"$query": )" + filter + "}"),
                              kFirstBatch),
                 first);
        } else {
            by_command(fmt::format(R"({{"find": "{}", "filter": {}, "batchSize": {}}})",
                                   way.collection, filter, kFirstBatch),
                       "cursor.firstBatch", first);
        }
        const auto& [what, item] = arguments.find("change")->members.at(0);
        if (error_of(change(way, what, item)) != 0) return "";
        while (old ? server.cursor_ != 0 : id != 0) {
            if (old) {
                take(server.get_more(ns, 2), rest);
            } else {
                by_command(fmt::format(R"({{"getMore": {{"$numberLong": "{}"}}, "collection": "{}",
                                            "batchSize": 2}})",
                                       id, way.collection),
                           "cursor.nextBatch", rest);
            }
        }
        // A filter can mean another thing by the old messages ($type, NaN): asked by the same ones.
        std::vector<std::string> now;
        if (old) {
            take(server.query(ns,
                              bson::parse_test_json(R"({"$query": )" + filter + R"(, "$hint": )" +
                                                    kForward + "}"),
                              -1000),
                 now);
        } else {
            now = matching(way, filter);
        }
        for (const std::string& doc : rest)
            if (std::ranges::find(now, doc) == now.end())
                return "the cursor shows what is not there: " + doc;
        if (what != "delete") return "";
        std::set<std::string> shown;
        for (const auto* part : {&first, &rest}) {
            for (const std::string& doc : *part)
                if (!shown.insert(doc).second) return "the cursor shows twice: " + doc;
        }
        for (const std::string& doc : now)
            if (!shown.contains(doc)) return "the cursor leaves out: " + doc;
        return "";
    }
};

Ways::Ways(TestEngine engine) : state_(std::make_unique<State>(engine)) {}
Ways::~Ways() = default;

void Ways::load(Case& data) {
    state_->load(data);
}

std::string Ways::check(const Case& one) {
    if (one.operation.members.empty()) return "";
    const auto& [what, arguments] = one.operation.members[0];
    // Equal to one and not to the other: how such numbers are grouped and sorted depends on the
    // order in which they come.
    const Node* sort = arguments.find("sort");
    const bool groups = what == "distinct" || (sort != nullptr && sort->members.size() > 1) ||
                        one.operation.json().find("$group") != std::string::npos ||
                        one.operation.json().find("$sort") != std::string::npos;
    for (const char* beyond_doubles : {"900719925474099", "922337203685477580"})
        if (groups && one.documents.json().find(beyond_doubles) != std::string::npos) return "";
    if (what == "range") return state_->follow_range(arguments);
    if (what == "near") return check_near(state_->searched(), arguments);
    if (what == "geoNear") return check_geo_near(state_->searched(), arguments);
    if (what == "text") return check_text(state_->searched(), arguments);
    if (what == "cursor") {
        if (arguments.find("filter") == nullptr || arguments.find("change") == nullptr ||
            arguments.find("change")->members.empty())
            return "";
        for (const Way& way : state_->ways(false, false)) {
            const std::string wrong = state_->follow_cursor(way, arguments);
            if (!wrong.empty()) return way.name() + ": " + wrong;
        }
        return "";
    }
    const bool writes = what == "update" || what == "delete" || what == "findAndModify";
    const bool all_are_shown =
        what == "find" && arguments.find("limit") == nullptr && arguments.find("skip") == nullptr;
    // One document by its _id is not sorted, and so not found to have no place in the order.
    const Node* filter = arguments.find(what == "findAndModify" ? "query" : "filter");
    const bool may_be_by_id =
        arguments.find("sort") != nullptr && filter != nullptr && filter->find("_id") != nullptr;
    std::optional<Outcome> right;
    // A view has its own collation.
    const bool with_views = !writes && arguments.find("collation") == nullptr;
    for (const Way& way : state_->ways(what == "find" || what == "count", with_views)) {
        if (way.partial && !all_are_shown) continue;
        const Outcome out =
            writes ? state_->write(way, what, arguments) : state_->read(way, what, arguments);
        if (writes) {
            const std::string stale = state_->stale_index(way.collection);
            if (!stale.empty()) return fmt::format("index of {}: {}", way.name(), stale);
        }
        if (raised_by_index(out.error)) return "";
        if (may_be_by_id && out.error == base::kBadValue) return "";
        if (out.error == base::kInvalidPipelineOperator) continue;  // not of a view
        if (!right) {
            right = out;
        } else if (way.partial ? right->error == 0 && !out.is_part_of(*right) : !out.same(*right)) {
            return fmt::format("in natural order:\n{}\n{}:\n{}", right->show(), way.name(),
                               out.show());
        }
    }
    return "";
}

}  // namespace command::differential
