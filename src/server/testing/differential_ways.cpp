#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "server/testing/differential.h"
#include "server/testing/service.h"

namespace server::differential {

namespace {

constexpr int kFirstBatch = 3;
constexpr const char* kIdKey = R"({"_id")";

// One engine with the commands over it.
class Server final : public ServiceTest {
  public:
    explicit Server(TestEngine engine) : ServiceTest(false, engine) {}
    void TestBody() override {}
    using TestConnection::code;
    using TestConnection::cursor_;
    using TestConnection::get_more;
    using TestConnection::query;
    using TestConnection::run;
};

// How a collection is asked. An empty hint leaves the choice to the planner.
struct Way {
    size_t engine = 0;
    std::string collection;
    std::string hint;  // JSON

    std::string name() const {
        return fmt::format("{}, collection '{}'{}{}", engine == 0 ? "mmapv1" : "memory", collection,
                           hint.empty() ? "" : ", hint ", hint);
    }
};

// What a way gave: the same text where it gave the same.
struct Outcome {
    std::string text;
    int error = 0;
};

// Two equal numbers of different types are one value to $group and distinct, which show the first.
std::string text_of_value(const bson::Element& e) {
    if (e.is_number()) return fmt::format("{}", e.to_double());
    if (!e.is_object() && !e.is_array()) return bson::to_text(e);
    std::string out = e.is_array() ? "[" : "{";
    for (const bson::Element& member : e.as_doc())
        out += std::string(member.name()) + ":" + text_of_value(member) + ",";
    return out + (e.is_array() ? "]" : "}");
}

// What comes from the keys of an index has their order, and null for a field that is missing.
std::string text_of_projected(bson::Doc doc) {
    std::vector<std::string> fields;
    for (const bson::Element& e : doc)
        if (e.type() != bson::Type::null)
            fields.push_back(fmt::format("{}: {}", e.name(), bson::to_text(e)));
    std::ranges::sort(fields);
    std::string out;
    for (const std::string& field : fields)
        out += field + ", ";
    return "{ " + out + "}";
}

std::string join(std::vector<std::string> all, bool in_order) {
    if (!in_order) std::ranges::sort(all);
    std::string out;
    for (const std::string& one : all)
        out += one + "\n";
    return out;
}

int error_of(const bson::Object& reply) {
    const bson::Element errors = reply["writeErrors"];
    if (errors.is_array()) return errors.as_doc().first().as_doc()["code"].to_int32();
    return Server::code(reply);
}

// Whether the old server, and so this one, answers otherwise with an index than without: null by a
// sparse index, through a path with an index in it, and its negation by an index whose path may end
// in an empty array.
bool known_to_differ(const std::string& operation, bool any_sparse) {
    const auto has = [&](const char* part) { return operation.find(part) != std::string::npos; };
    return has("null") && (any_sparse || has(".0") || has("\"0\"") || has("$ne") || has("$nin") ||
                           has("$not") || has("$nor"));
}

// Errors that only an index can raise: the collection without it can't agree.
bool raised_by_index(int code) {
    return code == 10088 || code == 17280 || code == 16746;
}

}  // namespace

struct Ways::State {
    std::unique_ptr<Server> servers[2];
    std::vector<std::string> indexes;  // their definitions, by name
    std::vector<bool> sparse;
    Case data;

    State() {
        servers[0] = std::make_unique<Server>(TestEngine::mmapv1);
        servers[1] = std::make_unique<Server>(TestEngine::memory);
    }

    static std::string alone(size_t index) { return "only" + std::to_string(index); }

    bool create(Server& server, const std::string& collection, size_t index) const {
        return Server::code(server.run(fmt::format(R"({{"createIndexes": "{}", "indexes": [{}]}})",
                                                   collection, indexes[index]))) == 0;
    }
    void fill(Server& server, const std::string& collection) const {
        server.run(fmt::format(R"({{"insert": "{}", "documents": {}}})", collection,
                               data.documents.json()));
    }

    void load(Case& given) {
        data.documents = given.documents;
        for (auto& server : servers) {
            for (const char* name : {"none", "all"}) {
                server->run(fmt::format(R"({{"drop": "{}"}})", name));
                fill(*server, name);
            }
        }
        indexes.clear();
        sparse.clear();
        Node built = array();
        std::set<std::string> keys;
        for (auto& [ignored, index] : given.indexes.members) {
            // One on _id every collection has, under its own name.
            const Node* key = index.find("key");
            if (key == nullptr || key->json().starts_with(kIdKey)) continue;
            if (!keys.insert(key->json()).second) continue;
            Node named = index;
            named.add("name", text(fmt::format("\"n{}\"", indexes.size())));
            indexes.push_back(named.json());
            if (create(*servers[0], "all", indexes.size() - 1) &&
                create(*servers[1], "all", indexes.size() - 1)) {
                sparse.push_back(index.find("sparse") != nullptr);
                built.push(index);
            } else {
                for (auto& server : servers)
                    server->run(fmt::format(R"({{"dropIndexes": "all", "index": "n{}"}})",
                                            indexes.size() - 1));
                indexes.pop_back();
            }
        }
        given.indexes = std::move(built);
        // Here the indexes come first, so that each document adds its keys one by one.
        for (auto& server : servers) {
            for (size_t i = 0; i < indexes.size(); ++i) {
                server->run(fmt::format(R"({{"drop": "{}"}})", alone(i)));
                create(*server, alone(i), i);
                fill(*server, alone(i));
            }
        }
    }

    std::vector<Way> ways(bool reading) const {
        std::vector<Way> all;
        for (size_t engine = 0; engine < 2; ++engine) {
            all.push_back({engine, "none", R"({"$natural": 1})"});
            all.push_back({engine, "all", ""});
            if (reading) all.push_back({engine, "all", R"({"$natural": -1})"});
            for (size_t i = 0; i < indexes.size(); ++i) {
                // A sparse index that is hinted leaves out what it does not hold.
                const bool hint = !sparse[i];
                all.push_back({engine, alone(i), ""});
                if (reading && hint) all.push_back({engine, "all", fmt::format("\"n{}\"", i)});
            }
        }
        return all;
    }

    Outcome outcome_of(const bson::Object& reply, std::string text) const {
        const int error = error_of(reply);
        return {error == 0 ? std::move(text) : "an error", error};
    }

    Outcome read(const Way& way, const std::string& what, const Node& arguments) {
        Server& server = *servers[way.engine];
        Node command = object();
        command.add(what, text('"' + way.collection + '"'));
        if (what == "aggregate") {
            command.add("pipeline", arguments).add("cursor", text(R"({"batchSize": 1000})"));
        } else {
            for (const auto& [name, value] : arguments.members)
                command.add(name, value);
        }
        if (what == "find") command.add("batchSize", text("1000"));
        const bool takes_hint = what == "find" || what == "count";
        if (takes_hint && !way.hint.empty()) command.add("hint", text(way.hint));
        const bson::Object reply = server.run(command.json());
        if (what == "count") return outcome_of(reply, bson::to_text(reply["n"]));
        std::vector<std::string> all;
        if (what == "distinct") {
            if (const bson::Element values = reply["values"]) {
                for (const bson::Element& value : values.as_doc())
                    all.push_back(text_of_value(value));
            }
            std::ranges::sort(all);
            all.erase(std::unique(all.begin(), all.end()), all.end());
        } else if (const bson::Element batch = reply.doc().at_path("cursor.firstBatch")) {
            const bool grouped = arguments.json().find("$group") != std::string::npos;
            const bool projected = what == "find" && arguments.find("projection") != nullptr;
            for (const bson::Element& doc : batch.as_doc())
                all.push_back(grouped     ? text_of_value(doc)
                              : projected ? text_of_projected(doc.as_doc())
                                          : bson::to_text(doc));
        }
        return outcome_of(reply, join(std::move(all), arguments.find("sort") != nullptr));
    }

    std::vector<std::string> matching(const Way& way, const std::string& filter) {
        const bson::Object reply =
            servers[way.engine]->run(fmt::format(R"({{"find": "{}", "filter": {}, "batchSize": 1000,
                             "hint": {{"$natural": 1}}}})",
                                                 way.collection, filter));
        std::vector<std::string> all;
        if (const bson::Element batch = reply.doc().at_path("cursor.firstBatch")) {
            for (const bson::Element& doc : batch.as_doc())
                all.push_back(bson::to_text(doc));
        }
        return all;
    }

    bson::Object change(const Way& way, const std::string& what, const Node& arguments) {
        Node item = arguments;
        if (what == "delete") item.add("limit", text("0"));
        return servers[way.engine]->run(
            fmt::format(R"({{"{}": "{}", "{}": [{}]}})", what, way.collection,
                        what == "delete" ? "deletes" : "updates", item.json()));
    }

    Outcome write(const Way& way, const std::string& what, const Node& arguments) {
        const bson::Object reply = change(way, what, arguments);
        const std::string after = join(matching(way, "{}"), false);
        // A failing update of several documents has done those that came first.
        const bool several = arguments.find("multi") != nullptr;
        if (error_of(reply) != 0) return {several ? "" : "an error\n" + after, error_of(reply)};
        return {fmt::format("n {}, nModified {}\n{}", bson::to_text(reply["n"]),
                            bson::to_text(reply["nModified"]), after),
                0};
    }

    // What is wrong with a cursor that lives through a change; empty: nothing.
    std::string follow_cursor(const Way& way, const Node& arguments) {
        Server& server = *servers[way.engine];
        const std::string filter = arguments.find("filter")->json();
        std::vector<std::string> first;
        std::vector<std::string> rest;
        const auto take = [](const std::vector<bson::Object>& batch,
                             std::vector<std::string>& out) {
            for (const bson::Object& doc : batch)
                out.push_back(bson::to_text(doc));
        };
        const std::string ns = "test." + way.collection;
        // Old messages to the second engine, commands to the first.
        const bool old = way.engine == 1;
        int64_t id = 0;
        const auto by_command = [&](const std::string& command, const char* batch,
                                    std::vector<std::string>& out) {
            const bson::Object reply = server.run(command);
            id = reply.doc().at_path("cursor.id").to_int64();
            if (const bson::Element docs = reply.doc().at_path(batch)) {
                for (const bson::Element& doc : docs.as_doc())
                    out.push_back(bson::to_text(doc));
            }
        };
        if (old) {
            take(server.query(ns, R"({"$query": )" + filter + "}", kFirstBatch), first);
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
        const std::vector<std::string> now = matching(way, filter);
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

Ways::Ways() : state_(std::make_unique<State>()) {}
Ways::~Ways() = default;

void Ways::load(Case& data) {
    state_->load(data);
}

std::string Ways::check(const Case& one) {
    if (one.operation.members.empty()) return "";
    const auto& [what, arguments] = one.operation.members[0];
    const bool any_sparse = std::ranges::find(state_->sparse, true) != state_->sparse.end();
    if (known_to_differ(one.operation.json(), any_sparse)) return "";
    // Equal to one and not to the other: how such numbers fall into groups depends on their order.
    const bool groups =
        what == "distinct" || one.operation.json().find("$group") != std::string::npos;
    if (groups && one.documents.json().find("900719925474099") != std::string::npos) return "";
    const bool writes = what == "update" || what == "delete";
    if (what == "cursor") {
        if (arguments.find("filter") == nullptr || arguments.find("change") == nullptr ||
            arguments.find("change")->members.empty())
            return "";
        for (const Way& way : state_->ways(false)) {
            const std::string wrong = state_->follow_cursor(way, arguments);
            if (!wrong.empty()) return way.name() + ": " + wrong;
        }
        return "";
    }
    std::vector<std::pair<Way, Outcome>> outcomes;
    for (const Way& way : state_->ways(!writes)) {
        outcomes.emplace_back(
            way, writes ? state_->write(way, what, arguments) : state_->read(way, what, arguments));
        const auto& [first_way, first] = outcomes[0];
        const Outcome& last = outcomes.back().second;
        if (raised_by_index(last.error)) return "";
        if (first.text.empty() || last.text.empty()) continue;
        if (first.text != last.text)
            return fmt::format("{}:\n{}\n{}:\n{}", first_way.name(), first.text, way.name(),
                               last.text);
    }
    return "";
}

}  // namespace server::differential
