// group: documents with the same key are put together by a function.
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "bson/compare.h"
#include "catalog/names.h"
#include "command/context/scripts.h"
#include "command/request/authorization.h"
#include "command/scripts/documents.h"
#include "command/scripts/scripts.h"
#include "sched/counted.h"
#include "sched/interruption.h"

namespace command {

namespace {

constexpr int kNoDocument = 10065;
constexpr int kNoNs = 17211;
constexpr int kBadCondition = 17212;
constexpr int kTooManyGroups = 17203;
constexpr int kKeyIsNoObject = 10042;
constexpr size_t kGroupsMax = 20'000;

struct LessByFields {
    bool operator()(const bson::Object& a, const bson::Object& b) const {
        return bson::compare_docs(a, b) < 0;
    }
};
using Groups = std::map<bson::Object, int32_t, LessByFields,
                        sched::CountingAllocator<std::pair<const bson::Object, int32_t>>>;

// What is asked for, as far as it is there.
struct Request {
    explicit Request(bson::Doc group)
        : key(group["key"]),
          key_function(group["$keyf"]),
          reduce(group["$reduce"]),
          initial(group["initial"]),
          finalize(group["finalize"]),
          condition(group["cond"]) {
        for (const std::string_view other : {"condition", "query", "q"})
            if (condition.missing()) condition = group[other];
    }
    const bson::Element key, key_function, reduce, initial, finalize;
    bson::Element condition;
};

class Grouping {
  public:
    Grouping(Invocation& invocation, const Request& request)
        : request_(request),
          script_(open_scripts(invocation.client, invocation.db)),
          reduce_(script_->compile(text_of_code(request.reduce))),
          key_function_(compiled(request.key_function)),
          finalize_(compiled(request.finalize)) {
        if (request.reduce.type() == bson::Type::code_with_scope)
            script_->define(request.reduce.code_scope().data());
        call("groupBegin", bson::Builder());
    }

    void take(bson::Doc doc) {
        ++count_;
        bson::Builder arguments;
        arguments.append("0", int32_t{reduce_}).append("1", group_of(key_of(doc))).append("2", doc);
        call("groupStep", std::move(arguments));
    }

    void append_to(bson::Builder& reply) {
        bson::Builder arguments;
        if (finalize_)
            arguments.append("0", int32_t{*finalize_});
        else
            arguments.append_null("0");
        const std::string groups = call("groupEnd", std::move(arguments));
        reply.append_as("retval", bson::Doc(groups.data()).first());
        reply.append("count", static_cast<double>(count_))
            .append("keys", static_cast<int32_t>(groups_.size()));
    }

  private:
    std::optional<int> compiled(const bson::Element& code) {
        if (!is_code(code)) return std::nullopt;
        return script_->compile(text_of_code(code));
    }

    std::string call(const char* name, bson::Builder arguments) {
        return script_->call_own(name, arguments.doc().data());
    }

    bson::Object key_of(bson::Doc doc) {
        if (key_function_) {
            const bson::Object arguments = bson::make("0", doc);
            const std::string result = script_->call(*key_function_, arguments.doc().data(),
                                                     script::Context::Result::field);
            const bson::Element key = bson::Doc(result.data()).first();
            if (!key.is_object())
                base::fail(kKeyIsNoObject, "the function $keyf has to return an object");
            return bson::Object(key.as_doc());
        }
        bson::Builder key;
        if (request_.key.is_object()) {
            for (const bson::Element& field : request_.key.as_doc()) {
                const bson::Element value = doc.at_path(field.name());
                if (value)
                    key.append_as(field.name(), value);
                else
                    key.append_null(field.name());
            }
        }
        return key.object();
    }

    int32_t group_of(bson::Object key) {
        const auto [place, is_new] =
            groups_.try_emplace(std::move(key), static_cast<int32_t>(groups_.size()));
        if (!is_new) return place->second;
        if (groups_.size() > kGroupsMax)
            base::fail(kTooManyGroups, "group() makes {} groups at most", kGroupsMax);
        bson::Builder arguments;
        arguments.append("0", place->first).append("1", request_.initial.as_doc());
        call("groupAdd", std::move(arguments));
        return place->second;
    }

    const Request& request_;
    const std::unique_ptr<script::Context> script_;
    const int reduce_;
    const std::optional<int> key_function_;
    const std::optional<int> finalize_;
    Groups groups_;
    int64_t count_ = 0;
};

void run_group(Invocation& invocation) {
    script::refuse_unless_allowed("group");
    const bson::Element body = invocation.first();
    if (!body.is_object()) base::fail(kNoDocument, "group takes a document");
    const bson::Element name = body.as_doc()["ns"];
    if (!name.is_string()) base::fail(kNoNs, "group needs the name of a collection in ns");
    if (name.as_string().empty())
        base::fail(base::kInvalidNamespace, "the name of a collection is not empty");
    const std::string ns = fmt::format("{}.{}", invocation.db, invocation.name_in(name));
    const Request request(body.as_doc());
    if (!is_code(request.reduce)) base::fail(base::kBadValue, "group needs a function in $reduce");
    if (!request.initial.is_object())
        base::fail(base::kBadValue, "group needs an object in initial");
    if (request.key.is_object() && is_code(request.key_function))
        base::fail(base::kBadValue, "group takes key or $keyf");
    Grouping grouping(invocation, request);
    DocumentsAsked asked{.ns = ns};
    if (request.condition.is_object()) asked.query = request.condition.as_doc();
    bool begun = false;
    try {
        each_document(invocation, asked, [&](bson::Doc doc) {
            begun = true;
            grouping.take(doc);
        });
    } catch (const base::Error& e) {
        if (begun || e.code() == script::kScriptError) throw;
        sched::fail_because(e, kBadCondition, "group has a bad condition: {}", e.what());
    }
    grouping.append_to(*invocation.reply);
}

// Its collection does not stand in the first field.
bool may_group(const Invocation& invocation, const Rights& rights) {
    const bson::Element body = invocation.first();
    const bson::Element name = body.is_object() ? body.as_doc()["ns"] : bson::Element();
    return rights.on(invocation.db, name.is_string() ? name.as_string() : std::string_view(),
                     auth::action::find);
}

constexpr Command kCommands[] = {
    {"group", "", kRecordsFailure, LockKind::read,
     "{ group: { ns: collection, key: {}, $reduce: code, initial: {} } }", run_group,
     needs::decided(may_group)},
};

}  // namespace

Family group_commands() {
    return kCommands;
}

}  // namespace command
