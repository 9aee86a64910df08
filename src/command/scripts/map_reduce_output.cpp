#include "command/scripts/map_reduce_output.h"

#include <utility>

#include "base/error.h"
#include "catalog/names.h"
#include "command/context/locks.h"
#include "command/pipeline/output_collection.h"
#include "command/scripts/inner_command.h"
#include "command/write/write_ops.h"
#include "query/plan/executor.h"

namespace command {

namespace {

constexpr int kNoTarget = 13606;
constexpr int kUnknownMode = 13522;
constexpr int kNameIsNoString = 13111;
constexpr int kEmptyName = 10011;
constexpr int kReservedName = 10076;
constexpr int kReplacesAtOnce = 15895;

bson::Object find_by_id(Invocation& invocation, const MapReduceTarget& target,
                        const bson::Element& id) {
    CollectionLock lock(invocation.client, target.ns(), false);
    if (lock.collection() == nullptr) return {};
    const storage::RecordId found = query::find_by_id(*lock.collection(), id);
    return found ? bson::Object(lock.collection()->records().get(found)) : bson::Object();
}

// Inserts a document whose `_id` the usual way does not allow.
void insert_raw(Invocation& invocation, const MapReduceTarget& target, bson::Doc doc) {
    CollectionLock lock(invocation.client, target.ns(), true);
    catalog::Collection& collection = lock.make();
    validate(collection, Validation::asked, doc);
    collection.insert(doc);
}

bool is_usual_id(const bson::Element& id) {
    return !id.is_array() && id.type() != bson::Type::regex && id.type() != bson::Type::undefined;
}

void upsert(Invocation& invocation, const MapReduceTarget& target, bson::Doc result) {
    bson::Builder command;
    command.append("update", target.collection);
    {
        bson::Builder list = command.sub_array("updates");
        bson::Builder item = list.sub_object("0");
        {
            bson::Builder query = item.sub_object("q");
            query.append(result["_id"]);
        }
        item.append("u", result).append("upsert", true);
    }
    const bson::Object reply = run_inner_command_or_throw(invocation, target.db, command.doc());
    const bson::Element errors = reply["writeErrors"];
    if (!errors.is_array() || errors.as_doc().empty()) return;
    const bson::Doc error = errors.as_doc().first().as_doc();
    throw base::Error(error["code"].to_int32(), std::string(error["errmsg"].as_string()));
}

MapReduceTarget::Mode mode_of(std::string_view name) {
    using Mode = MapReduceTarget::Mode;
    static constexpr std::pair<std::string_view, Mode> kModes[] = {{"inline", Mode::inline_},
                                                                   {"replace", Mode::replace},
                                                                   {"normal", Mode::replace},
                                                                   {"merge", Mode::merge},
                                                                   {"reduce", Mode::reduce}};
    for (const auto& [known, mode] : kModes)
        if (name == known) return mode;
    base::fail(kUnknownMode, "mapReduce has no output mode {}", name);
}

}  // namespace

MapReduceTarget read_target(const bson::Element& out, std::string_view db) {
    using Mode = MapReduceTarget::Mode;
    MapReduceTarget target;
    target.db = db;
    bool at_once = true;
    if (out.is_string()) {
        target.mode = Mode::replace;
        target.collection = out.as_string();
    } else if (out.is_object()) {
        const bson::Doc spec = out.as_doc();
        const bson::Element first = spec.first();
        target.mode = mode_of(first.name());
        if (target.mode != Mode::inline_) {
            if (!first.is_string())
                base::fail(kNameIsNoString, "the target of mapReduce is named by a string");
            target.collection = first.as_string();
        }
        if (spec["db"].is_string()) {
            target.db = spec["db"].as_string();
            target.names_db = true;
        }
        at_once = !spec["nonAtomic"].truthy();
    } else {
        base::fail(kNoTarget, "mapReduce needs out: {{inline: 1}}, or the name of a collection");
    }
    if (target.mode == Mode::inline_) return target;
    if (target.collection.empty()) base::fail(kEmptyName, "the name of a collection is not empty");
    if (!catalog::valid_database_name(target.db) || catalog::is_system(target.collection) ||
        target.collection.find_first_of(std::string_view("$\0", 2)) != std::string::npos)
        base::fail(kReservedName, "mapReduce does not write to {}", target.ns());
    if (target.mode == Mode::replace && !at_once)
        base::fail(kReplacesAtOnce, "nonAtomic is for the modes merge and reduce");
    return target;
}

int64_t store_results(Invocation& invocation, const MapReduceTarget& target, const TakeResult& next,
                      const Reduced& reduced) {
    const bson::Object count = bson::make("count", target.collection);
    const auto size = [&] {
        return run_inner_command_or_throw(invocation, target.db, count)["n"].to_int64();
    };
    if (target.mode == MapReduceTarget::Mode::replace || size() == 0) {
        OutputCollection output(invocation, {.db = target.db, .collection = target.collection},
                                Validation::asked, OutputCollection::Of::map_reduce);
        output.fill_from(next);
    } else {
        bson::Buffer buffer;
        while (next(buffer)) {
            bson::Object result{bson::Doc(buffer.data())};
            buffer.clear();
            const bool by_reduce = target.mode == MapReduceTarget::Mode::reduce;
            if (by_reduce || !is_usual_id(result["_id"])) {
                const bson::Object before = find_by_id(invocation, target, result["_id"]);
                if (!before.empty() && by_reduce) result = reduced(before, result);
                if (!is_usual_id(result["_id"])) {
                    if (before.empty()) insert_raw(invocation, target, result);
                    continue;
                }
            }
            upsert(invocation, target, result);
        }
    }
    return size();
}

}  // namespace command
