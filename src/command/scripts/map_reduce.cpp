// mapReduce: functions make keys and values of documents, and one value of those with the same key.
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "base/milliseconds.h"
#include "bson/compare.h"
#include "command/context/scripts.h"
#include "command/request/authorization.h"
#include "command/request/bind.h"
#include "command/request/fields_of_today.h"
#include "command/request/member_state.h"
#include "command/scripts/documents.h"
#include "command/scripts/map_reduce_output.h"
#include "command/scripts/scripts.h"
#include "sched/counted.h"
#include "sched/interruption.h"
#include "sched/operation.h"
#include "sched/tick.h"

namespace command {

namespace {

constexpr int kNoFunction = 10062;
constexpr int kSortIsNoObject = 13609;
constexpr int kReduceGaveArray = 10075;
constexpr int kBadQuery = 17238;
constexpr int kResultsTooLarge = 10334;
// Values are reduced on the way after so many documents, if they are so many for each key, or take
// so much memory: the old server did.
constexpr int64_t kDocumentsPerLook = 100;
constexpr int64_t kDoublesPerKey = 10;
constexpr size_t kValueBytesMax = size_t{500} * 1024;
// What a reduce function is given at once.
constexpr size_t kReducedBytesMax = bson::kDocumentBytesMax / 2;

struct MapReduceRequest {
    bson::Element map, reduce, out, query, sort, limit, finalize, scope, js_mode, verbose;
};

struct LessByValue {
    bool operator()(const bson::Object& a, const bson::Object& b) const {
        return bson::compare_values(a.doc().first(), b.doc().first()) < 0;
    }
};

constexpr Reader<bson::Element> kAny{types::any, as_it_came};
constexpr Row<MapReduceRequest> kRows[] = {
    row<kAny, &MapReduceRequest::map>("map"),
    row<kAny, &MapReduceRequest::reduce>("reduce"),
    row<kAny, &MapReduceRequest::out>("out"),
    row<kAny, &MapReduceRequest::query>("query"),
    row<kAny, &MapReduceRequest::sort>("sort"),
    row<kAny, &MapReduceRequest::limit>("limit"),
    row<kAny, &MapReduceRequest::finalize>("finalize"),
    row<kAny, &MapReduceRequest::scope>("scope"),
    row<kAny, &MapReduceRequest::js_mode>("jsMode"),
    row<kAny, &MapReduceRequest::verbose>("verbose"),
    without_effect("keeptemp", types::any),
    without_effect("bypassDocumentValidation", types::any),
    refused("collation", "3.4"),
};
constexpr RequestTable kMapReduce(kRows);

MapReduceRequest parse(const Invocation& invocation) {
    MapReduceRequest request;
    kMapReduce.bind(invocation.given, invocation.dialect(), request);
    return request;
}

// The values of a key, one behind another, as elements without a name.
struct Values {
    bson::Buffer bytes;
    int64_t count = 0;
};
using Emits = std::map<bson::Object, Values, LessByValue,
                       sched::CountingAllocator<std::pair<const bson::Object, Values>>>;

using Clock = sched::Operation::Clock;

class MapReduce final : public script::Emitted {
  public:
    MapReduce(Invocation& invocation, const MapReduceRequest& request)
        : invocation_(invocation),
          request_(request),
          target_(read_target(request.out, invocation.db)),
          script_(open_scripts(invocation.client, invocation.db)),
          js_(request.js_mode.truthy()) {
        if (request.scope.is_object()) script_->define(request.scope.as_doc().data());
        script_->collect(this);
        map_ = compiled(request.map);
        reduce_ = compiled(request.reduce);
        if (!request.finalize.missing()) finalize_ = compiled(request.finalize);
        if (js_) call("jsBegin", bson::make("0", int32_t{reduce_}));
    }

    const MapReduceTarget& target() const { return target_; }

    void map(bson::Doc doc) {
        ++input_;
        script_->visit(map_, doc.data());
        if (input_ % kDocumentsPerLook != 0) return;
        if (js_)
            call("jsStep", {});
        else if (doubles_ > kDoublesPerKey * static_cast<int64_t>(emits_.size()) ||
                 bytes_ > kValueBytesMax)
            reduce_all();
    }

    void take(const uint8_t* pair) override {
        const bson::Doc emitted(pair);
        if (emitted.size() > bson::kDocumentBytesMax / 2)
            base::fail(script::kScriptError, "an emitted value is too large");
        sched::tick_bytes(emitted.size(), sched::PerTick::copied);
        js_ = false;  // a key made it so, or it was
        ++emit_count_;
        auto fields = emitted.begin();
        bson::Builder key;
        key.append_as("", *fields);
        add(key.object(), *++fields);
    }

    // Writes what the command answers with.
    void finish(bson::Builder& reply, Clock::time_point started, Clock::time_point mapped) {
        if (js_)
            take_js_results();
        else
            reduce_all();
        const Clock::time_point reduced = Clock::now();
        if (target_.mode == MapReduceTarget::Mode::inline_) {
            append_results(reply);
        } else {
            output_ = store_results(
                invocation_, target_, [this](bson::Buffer& out) { return next(out); },
                [this](bson::Doc before, bson::Doc result) { return rereduced(before, result); });
            append_target(reply);
        }
        reply.append("timeMillis", static_cast<int32_t>(base::ms_since(started)));
        if (request_.verbose.truthy()) {
            const auto ms = [](Clock::duration time) {
                return static_cast<int32_t>(
                    std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
            };
            bson::Builder timing = reply.sub_object("timing");
            timing.append("mapTime", int64_t{ms(mapped - started)})
                .append("emitLoop", ms(mapped - started))
                .append("reduceTime", ms(reduced - mapped))
                .append("mode", js_ ? "js" : "mixed")
                .append("total", static_cast<int32_t>(base::ms_since(started)));
        }
        bson::Builder counts = reply.sub_object("counts");
        counts.append_number("input", input_);
        counts.append_number("emit", emit_count_);
        counts.append_number("reduce", reduce_count_);
        counts.append_number("output", output_);
    }

  private:
    int compiled(const bson::Element& function) {
        if (function.type() == bson::Type::code_with_scope)
            script_->define(function.code_scope().data());
        return script_->compile(text_of_code(function));
    }

    std::string call(const char* name, const bson::Object& arguments) {
        return script_->call_own(name, arguments.doc().data());
    }

    void add(bson::Object key, const bson::Element& value) {
        const auto [place, is_new] = emits_.try_emplace(std::move(key));
        if (!is_new) ++doubles_;
        bytes_ += value.size();
        append_to(place->second, value);
    }

    static void append_to(Values& values, const bson::Element& value) {
        values.bytes.append_byte(static_cast<uint8_t>(value.type()));
        values.bytes.append_byte(0);
        values.bytes.append(value.value(), value.value_size());
        ++values.count;
    }

    void reduce_all() {
        bytes_ = 0;
        doubles_ = 0;
        for (auto& [key, values] : emits_) {
            if (values.count > 1) reduce(key, values);
            bytes_ += values.bytes.size();
        }
    }

    // Makes one value of several.
    void reduce(const bson::Object& key, Values& values) {
        while (values.count > 1) {
            bson::Builder arguments;
            arguments.append_as("0", key.doc().first());
            size_t at = 0;
            int64_t taken = 0;
            {
                bson::Builder list = arguments.sub_array("1");
                while (at < values.bytes.size() && (taken < 2 || at < kReducedBytesMax)) {
                    const bson::Element value(values.bytes.data() + at);
                    list.push_element(value);
                    at += value.size();
                    ++taken;
                }
            }
            ++reduce_count_;
            const std::string result =
                script_->call(reduce_, arguments.doc().data(), script::Context::Result::fields);
            const bson::Element value = bson::Doc(result.data()).first();
            if (value.is_array())
                base::fail(kReduceGaveArray, "a reduce function may not return an array");
            Values rest;
            append_to(rest, value);
            rest.bytes.append(values.bytes.data() + at, values.bytes.size() - at);
            rest.count += values.count - taken;
            values = std::move(rest);
        }
    }

    // In jsMode keys and values are what the script has of them.
    void take_js_results() {
        bson::Builder arguments;
        if (finalize_)
            arguments.append("0", int32_t{*finalize_});
        else
            arguments.append_null("0");
        js_results_ = call("jsEnd", arguments.object());
        const bson::Doc results = bson::Doc(js_results_.data()).first().as_doc();
        emit_count_ = results["emits"].to_int64();
        reduce_count_ = results["reductions"].to_int64();
        js_at_ = results["results"].as_doc().begin();
        js_end_ = results["results"].as_doc().end();
    }

    bson::Object finalized(bson::Doc key_and_value) {
        const std::string result =
            script_->call(*finalize_, key_and_value.data(), script::Context::Result::fields);
        return bson::Object(bson::Doc(result.data()));
    }

    // Appends the next result, in the order of keys.
    bool next(bson::Buffer& out) {
        if (js_) {
            if (*js_at_ == *js_end_) return false;
            const bson::Doc result = (**js_at_).as_doc();
            out.append(result.data(), static_cast<size_t>(result.size()));
            ++*js_at_;
            return true;
        }
        if (!begun_) at_ = emits_.begin();
        begun_ = true;
        if (at_ == emits_.end()) return false;
        const bson::Element key = at_->first.doc().first();
        const bson::Element value(at_->second.bytes.data());
        append_result(out, key, value);
        at_ = emits_.erase(at_);
        return true;
    }

    void append_result(bson::Buffer& out, const bson::Element& key, const bson::Element& value) {
        bson::Builder result(out);
        result.append_as("_id", key);
        if (!finalize_) {
            result.append_as("value", value);
            return;
        }
        bson::Builder arguments;
        arguments.append_as("0", key).append_as("1", value);
        const bson::Object made = finalized(arguments.doc());
        result.append_as("value", made.doc().first());
    }

    bson::Object rereduced(bson::Doc before, bson::Doc result) {
        Values values;
        bson::Builder key;
        key.append_as("", result["_id"]);
        append_to(values, result["value"]);
        // It stands behind the key, whatever its name.
        auto fields = before.begin();
        if (fields != before.end() && ++fields != before.end()) append_to(values, *fields);
        const int64_t counted = reduce_count_;
        if (values.count > 1) reduce(key.object(), values);
        reduce_count_ = counted;
        bson::Buffer out;
        append_result(out, result["_id"], bson::Element(values.bytes.data()));
        return bson::Object(bson::Doc(out.data()));
    }

    void append_results(bson::Builder& reply) {
        bson::Builder list = reply.sub_array("results");
        bson::Buffer buffer;
        while (next(buffer)) {
            list.push(bson::Doc(buffer.data()));
            buffer.clear();
            ++output_;
            if (list.size() > static_cast<size_t>(bson::kDocumentBytesMax))
                base::fail(kResultsTooLarge,
                           "the results are larger than a reply may be: use another out");
        }
    }

    void append_target(bson::Builder& reply) const {
        if (target_.names_db)
            reply.append("result", bson::make("db", target_.db, "collection", target_.collection));
        else
            reply.append("result", target_.collection);
    }

    Invocation& invocation_;
    const MapReduceRequest request_;
    const MapReduceTarget target_;
    const std::unique_ptr<script::Context> script_;
    bool js_;
    int map_ = 0;
    int reduce_ = 0;
    std::optional<int> finalize_;
    Emits emits_;
    Emits::iterator at_;
    bool begun_ = false;
    std::string js_results_;
    std::optional<bson::Doc::iterator> js_at_, js_end_;
    size_t bytes_ = 0;
    int64_t doubles_ = 0;
    int64_t input_ = 0, emit_count_ = 0, reduce_count_ = 0, output_ = 0;
};

void check_functions(const MapReduceRequest& request) {
    const auto check = [](const bson::Element& e, std::string_view name) {
        if (!is_code(e)) base::fail(kNoFunction, "mapReduce: {} has to be a function", name);
    };
    check(request.map, "map");
    check(request.reduce, "reduce");
    if (!request.finalize.missing()) check(request.finalize, "finalize");
}

void run_map_reduce(Invocation& invocation) {
    script::refuse_unless_allowed("mapReduce");
    const Clock::time_point started = Clock::now();
    const std::string ns = invocation.ns();
    const MapReduceRequest request = parse(invocation);
    check_functions(request);
    MapReduce run(invocation, request);
    if (run.target().mode != MapReduceTarget::Mode::inline_) {
        check_takes_writes(invocation.service.context(), run.target().db, invocation.dialect());
        invocation.check_concern();
        invocation.wrote = true;
    }
    if (!collection_exists(invocation, ns))
        base::fail(base::kNamespaceNotFound, "ns doesn't exist");
    DocumentsAsked asked{.ns = ns};
    if (request.query.is_object()) asked.query = request.query.as_doc();
    const bson::Element& sort = request.sort;
    if (!sort.missing() && sort.type() != bson::Type::null) {
        if (!sort.is_object()) base::fail(kSortIsNoObject, "sort has to be an object");
        asked.sort = sort.as_doc();
    }
    // The old server read one document for a negative one.
    if (request.limit.is_number())
        asked.limit = request.limit.to_int64() < 0 ? 1 : request.limit.to_int64();
    bool begun = false;
    try {
        each_document(invocation, asked, [&](bson::Doc doc) {
            begun = true;
            run.map(doc);
        });
    } catch (const base::Error& e) {
        if (begun || e.code() == script::kScriptError) throw;
        sched::fail_because(e, kBadQuery, "mapReduce has a bad query: {}", e.what());
    }
    run.finish(*invocation.reply, started, Clock::now());
}

// It reads its collection, and writes another one.
bool may_map_reduce(const Invocation& invocation, const Rights& rights) {
    const bson::Element name = invocation.first();
    if (!name.is_string() || !rights.on(invocation.db, name.as_string(), auth::action::find))
        return false;
    const bson::Element out = invocation.body.at_path("out");
    std::string_view db = invocation.db;
    bson::Element target = out;
    if (out.is_object()) {
        target = out.as_doc().first();
        if (target.name() == "inline") return true;
        if (out.as_doc()["db"].is_string()) db = out.as_doc()["db"].as_string();
    }
    return !target.is_string() ||
           rights.on(db, target.as_string(),
                     auth::action::insert | auth::action::remove | auth::action::update);
}

constexpr Command kCommands[] = {
    {"mapReduce", "mapreduce", kRecordsFailure, LockKind::read,
     "{ mapReduce: collection, map: code, reduce: code, out: { inline: 1 } }", run_map_reduce,
     needs::decided(may_map_reduce), kMapReduce.fields()},
};

}  // namespace

Family map_reduce_commands() {
    return kCommands;
}

}  // namespace command
