// $unwind: one document for each element of an array.

#include "base/dcheck.h"
#include "base/error.h"
#include "bson/element_writer.h"
#include "bson/type_names.h"
#include "dialect/dialect.h"
#include "dialect/pipelines.h"
#include "query/stage/foreign.h"
#include "query/stage/stage.h"
#include "sched/tick.h"

namespace query {

using bson::Type;

namespace {

struct UnwindOptions {
    std::vector<std::string> path;
    std::vector<std::string> index_path;  // where the number of an element goes; empty: nowhere
    bool keeps_all = false;               // documents that have no element, too
    // Later servers count a value that is no array as one element. Otherwise it is refused.
    dialect::Dialect dialect = dialect::kV26;
};

class Unwind : public Stage {
  public:
    explicit Unwind(UnwindOptions options) : options_(std::move(options)) {
        DCHECK(!options_.path.empty());
    }

    bool next(bson::Doc* out) override {
        while (!active_ || at_ == end_) {
            active_ = false;
            bson::Doc doc;
            if (!previous_->next(&doc)) return false;
            input_ = doc;
            const Value v = find();
            const bool is_empty = is_nullish(v) || (v.is_array() && v.as_doc().empty());
            if (is_empty && !options_.keeps_all) continue;
            if (is_empty || !v.is_array()) {
                if (!options_.dialect.has(dialect::kUnwindTakesAll))
                    base::fail(15978,
                               "Value at end of $unwind field path must be an Array, but is a {}",
                               type_name(v.type()));
                write_single(v, out);
                return true;
            }
            at_ = v.as_doc().begin();
            end_ = v.as_doc().end();
            index_ = 0;
            active_ = true;
        }
        write(&*at_);
        Arena arena;
        finish(make_long(arena, index_++), out);
        ++at_;
        return true;
    }

    void add_needs(Needs& needs) const override {
        std::string text;
        for (const std::string& part : options_.path)
            text += (text.empty() ? "" : ".") + part;
        needs.fields.emplace(text);
    }
    Needs input_needs(Needs later) const override {
        add_needs(later);
        return later;
    }
    bool passes_documents_on() const override { return options_.index_path.empty(); }
    int further_levels() const override { return static_cast<int>(options_.index_path.size()); }

  private:
    // Only documents are walked through.
    Value find() const {
        bson::Doc doc = input_;
        for (size_t i = 0;; ++i) {
            const Value v = doc[options_.path[i]];
            if (i + 1 == options_.path.size()) return v;
            if (!v.is_object()) return {};
            doc = v.as_doc();
        }
    }

    // The document of a value that is no element: as it is, but without an empty array.
    void write_single(const Value& v, bson::Doc* out) {
        if (v.is_array()) {
            write(nullptr);
        } else {
            out_.clear();
            out_.append(input_.data(), static_cast<size_t>(input_.size()));
        }
        finish(null_value(), out);
    }

    // Puts the element, or nothing, in the place of the array.
    void write(const Value* element) {
        // The whole document is copied for each element.
        sched::tick_bytes(input_.size(), sched::PerTick::copied);
        out_.clear();
        write_doc(input_, 0, element);
    }

    void write_doc(bson::Doc doc, size_t depth, const Value* element) {
        DCHECK(depth < options_.path.size());
        const size_t start = open_doc(out_);
        bool done = false;
        for (const Value& e : doc) {
            if (done || e.name() != options_.path[depth]) {
                out_.append(e.raw(), e.size());
                continue;
            }
            done = true;
            if (depth + 1 == options_.path.size()) {
                if (element != nullptr) write_value(out_, e.name(), *element);
            } else {
                DCHECK(e.is_object());  // find() went through it
                write_header(out_, e.type(), e.name());
                write_doc(e.as_doc(), depth + 1, element);
            }
        }
        close_doc(out_, start);
    }

    void finish(const Value& index, bson::Doc* out) {
        *out = bson::Doc(out_.data());
        if (options_.index_path.empty()) return;
        with_index_.clear();
        write_with(*out, options_.index_path, index, with_index_);
        *out = bson::Doc(with_index_.data());
    }

    const UnwindOptions options_;
    bson::Doc input_;
    bson::Doc::iterator at_{bson::Doc().begin()};
    bson::Doc::iterator end_{bson::Doc().begin()};
    int64_t index_ = 0;
    bool active_ = false;
    bson::Buffer out_;
    bson::Buffer with_index_;
};

UnwindOptions options_of_today(const Value& spec) {
    UnwindOptions options;
    options.dialect = dialect::kToday;
    if (spec.is_object()) {
        for (const Value& e : spec.as_doc()) {
            const std::string_view name = e.name();
            if (name == "path") {
                if (!e.is_string())
                    base::fail(28808, "expected a string as the path for $unwind stage, got {}",
                               bson::name_of(e.type()));
                if (!e.as_string().starts_with('$'))
                    base::fail(28818,
                               "path option to $unwind stage should be prefixed with a '$': {}",
                               e.as_string());
                options.path = split_path(e.as_string().substr(1), dialect::kToday);
            } else if (name == "includeArrayIndex") {
                if (!e.is_string() || e.as_string().empty())
                    base::fail(28810,
                               "expected a non-empty string for the includeArrayIndex option to "
                               "$unwind stage, got {}",
                               bson::name_of(e.type()));
                if (e.as_string().starts_with('$'))
                    base::fail(28822,
                               "includeArrayIndex option to $unwind stage should not be prefixed "
                               "with a '$': {}",
                               e.as_string());
                options.index_path = split_path(e.as_string(), dialect::kToday);
            } else if (name == "preserveNullAndEmptyArrays") {
                if (e.type() != Type::boolean)
                    base::fail(28809,
                               "expected a boolean for the preserveNullAndEmptyArrays option to "
                               "$unwind stage, got {}",
                               bson::name_of(e.type()));
                options.keeps_all = e.as_bool();
            } else {
                base::fail(28811, "unrecognized option to $unwind stage: {}", name);
            }
        }
        if (options.path.empty()) base::fail(28812, "no path specified to $unwind stage");
        return options;
    }
    if (!spec.is_string())
        base::fail(15981,
                   "expected either a string or an object as specification for $unwind stage, got "
                   "{}",
                   bson::name_of(spec.type()));
    if (!spec.as_string().starts_with('$'))
        base::fail(28818, "path option to $unwind stage should be prefixed with a '$': {}",
                   spec.as_string());
    options.path = split_path(spec.as_string().substr(1), dialect::kToday);
    return options;
}

}  // namespace

StagePtr make_unwind(const Value& spec, const PipelineContext& context) {
    if (context.dialect.has(dialect::kUnwindTakesAll))
        return std::make_unique<Unwind>(options_of_today(spec));
    if (!spec.is_string())
        base::fail(15981, "the $unwind field path must be specified as a string");
    const std::string_view text = spec.as_string();
    if (!text.starts_with('$')) {
        base::fail(15982, "field path references must be prefixed with a '$' ('{}')", text);
    }
    UnwindOptions options;
    options.path = split_path(text.substr(1), dialect::kV26);
    return std::make_unique<Unwind>(std::move(options));
}

}  // namespace query
