#include "command/context/scripts.h"

#include <fmt/format.h>

#include <vector>

#include "base/dcheck.h"
#include "base/error.h"
#include "catalog/names.h"
#include "command/context/locks.h"
#include "sched/tick.h"

namespace command {

namespace {

constexpr int kNameIsNoString = 10209;
constexpr int kNoValue = 10210;
// Stored functions may be so large together.
constexpr size_t kStoredBytesMax = size_t{16} * 1024 * 1024;

// The documents of system.js.
std::vector<bson::Object> stored_scripts(OperationContext& context, std::string_view db) {
    std::vector<bson::Object> found;
    const std::string ns = fmt::format("{}.system.js", db);
    CollectionLock lock(context, ns, false, CollectionLock::Views::taken);
    if (lock.collection() == nullptr) return found;
    size_t bytes = 0;
    const storage::HeldCursor cursor =
        lock.collection()->records().cursor(storage::Direction::forward);
    while (const auto record = cursor->next()) {
        const bson::Doc doc = record->doc;
        sched::tick_bytes(doc.size(), sched::PerTick::copied);
        bytes += static_cast<size_t>(doc.size());
        if (bytes > kStoredBytesMax)
            base::fail(base::kExceededMemoryLimit, "the stored functions of {} are over {} bytes",
                       db, kStoredBytesMax);
        found.emplace_back(doc);
    }
    return found;
}

class Where final : public query::MatchExpression {
  public:
    Where(OperationContext& context, std::string_view db, const bson::Element& code)
        : script_(open_scripts(context, db)) {
        if (code.type() == bson::Type::code_with_scope) script_->define(code.code_scope().data());
        function_ = script_->compile(text_of_code(code));
    }

    bool matches(bson::Doc doc) const override { return script_->is_true(function_, doc.data()); }
    void append_result(bson::Doc, std::string_view, bson::Builder&) const override {}
    bson::Doc implied() const override { return {}; }
    bson::Doc implied_ranges() const override { return {}; }
    bool runs_scripts() const override { return true; }

  private:
    const std::unique_ptr<script::Context> script_;
    int function_ = 0;
};

}  // namespace

std::unique_ptr<script::Context> open_scripts(OperationContext& context, std::string_view db) {
    auto script = script::open_context();
    for (const bson::Object& stored : stored_scripts(context, db)) {
        const bson::Element name = stored.doc()["_id"];
        const bson::Element value = stored.doc()["value"];
        if (!name.is_string())
            base::fail(kNameIsNoString, "the name of a stored function is a string");
        if (value.missing()) base::fail(kNoValue, "a stored function has a value");
        script->define_stored(name.as_string(), value.raw());
    }
    return script;
}

bool is_code(const bson::Element& e) {
    return e.is_string() || e.type() == bson::Type::code || e.type() == bson::Type::code_with_scope;
}

std::string_view text_of_code(const bson::Element& code) {
    DCHECK(is_code(code));
    return code.type() == bson::Type::code_with_scope ? code.code_text() : code.as_string();
}

std::unique_ptr<const query::MatchExpression> RequestScripts::parse(
    const bson::Element& code) const {
    script::refuse_unless_allowed("$where", base::kBadValue);
    if (!is_code(code)) base::fail(base::kBadValue, "$where takes a string or code");
    return std::make_unique<const Where>(context_, catalog::split(ns_).db, code);
}

}  // namespace command
