// $project that takes fields away, and $unset, later than 2.6.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "query/stage/stage.h"
#include "sched/counted.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

using Path = std::vector<std::string>;

// Documents without some fields, of documents in arrays too.
class Exclusion : public sched::Counted {
  public:
    // Throws base::Error 31249 and 31250 for a path that lies in another one, or is one of them.
    void add(const Path& path) {
        DCHECK(!path.empty());
        Exclusion* around = this;
        for (auto part = path.begin(); part != path.end(); ++part) {
            sched::tick();
            const auto [field, made] = around->fields_.try_emplace(sched::String(*part));
            if (made)
                field->second = std::make_unique<Exclusion>();
            else if (part + 1 == path.end())
                base::fail(31250, "Path collision at {}", fmt::join(path, "."));
            else if (field->second->fields_.empty())
                base::fail(31249, "Path collision at {} remaining portion {}", fmt::join(path, "."),
                           fmt::join(part + 1, path.end(), "."));
            around = field->second.get();
        }
    }
    void write_doc(bson::Doc doc, bson::Buffer& out) const {
        const size_t start = open_doc(out);
        for (const Value& e : sched::ticked(doc)) {
            const auto field = fields_.find(e.name());
            if (field == fields_.end())
                out.append(e.raw(), e.size());
            else if (!field->second->fields_.empty())
                field->second->write_inside(e, e.name(), out);
        }
        close_doc(out, start);
    }

  private:
    void write_inside(const Value& e, std::string_view name, bson::Buffer& out) const {
        DCHECK(!fields_.empty());
        sched::tick();
        if (!e.is_object() && !e.is_array()) return write_value(out, name, e);
        write_header(out, e.type(), name);
        if (e.is_object()) return write_doc(e.as_doc(), out);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const Value& inner : e.as_doc())
            write_inside(inner, bson::IndexName(index++).view(), out);
        close_doc(out, start);
    }

    using Field = std::pair<const sched::String, std::unique_ptr<Exclusion>>;
    std::map<sched::String, std::unique_ptr<Exclusion>, std::less<>,
             sched::CountingAllocator<Field>>
        fields_;  // none: the whole value goes
};

class Exclude : public Stage {
  public:
    explicit Exclude(bson::Doc spec) {
        Path path;
        add(spec, path);
    }
    bool next(bson::Doc* out) override {
        bson::Doc doc;
        if (!previous_->next(&doc)) return false;
        out_.clear();
        exclusion_.write_doc(doc, out_);
        *out = bson::Doc(out_.data());
        return true;
    }
    void add_needs(Needs&) const override {}
    // Whether a field that goes was there makes no difference.
    Needs input_needs(Needs later) const override { return later; }

  private:
    // `path` is where `spec` stands; it is the same afterwards.
    void add(bson::Doc spec, Path& path) {
        for (const Value& e : spec) {
            const size_t outer = path.size();
            std::ranges::move(split_path(e.name(), dialect::kToday), std::back_inserter(path));
            if (outer != 0 && path.size() > outer + 1)
                base::fail(40183, "cannot use dotted field name '{}' in a sub object", e.name());
            if (e.is_object())
                add(e.as_doc(), path);
            else if (!e.truthy())  // {_id: 1}, beside others
                exclusion_.add(path);
            path.resize(outer);
        }
    }

    Exclusion exclusion_;
    bson::Buffer out_;
};

// Whether the specification takes fields away. The value of `_id` alone does not matter, as long as
// others take fields away.
bool takes_away(bson::Doc spec, bool top_level) {
    bool only_id = true;
    for (const Value& e : sched::ticked(spec)) {
        if (e.name().starts_with('$')) return false;
        if (e.is_object()) {
            if (!takes_away(e.as_doc(), false)) return false;
            only_id = false;
            continue;
        }
        if (!e.is_number() && e.type() != Type::boolean) return false;
        if (top_level && e.name() == "_id") continue;
        if (e.truthy()) return false;
        only_id = false;
    }
    if (!only_id) return true;
    const Value id = spec["_id"];
    return top_level && id && !id.truthy();
}

}  // namespace

StagePtr make_exclusion(bson::Doc spec) {
    if (!takes_away(spec, true)) return nullptr;
    return std::make_unique<Exclude>(spec);
}

StagePtr make_unset(const Value& spec) {
    bson::Builder paths;
    const auto add = [&](const Value& path) {
        if (!path.is_string() || path.as_string().find('\0') != std::string_view::npos)
            base::fail(31120,
                       "$unset specification must be a string or an array containing only "
                       "string values");
        paths.append(path.as_string(), 0);
    };
    if (spec.is_array()) {
        for (const Value& path : spec.as_doc())
            add(path);
    } else if (spec.is_string()) {
        add(spec);
    } else {
        base::fail(31002, "$unset specification must be a string or an array");
    }
    const bson::Doc excluded = paths.doc();
    if (excluded.empty())
        base::fail(31119,
                   "$unset specification must be a string or an array with at least one "
                   "field");
    return std::make_unique<Exclude>(excluded);
}

}  // namespace query
