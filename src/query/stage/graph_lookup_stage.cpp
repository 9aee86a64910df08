// $graphLookup, later than 2.6: to each document all of another collection that can be reached from
// it, from document to document.

#include <cmath>
#include <optional>

#include "base/dcheck.h"
#include "dialect/dialect.h"
#include "query/stage/foreign_stage.h"
#include "query/stage/pipeline.h"
#include "query/value/value_set.h"
#include "sched/tick.h"
#include "spill/run.h"

namespace query {

namespace {

// Searches level by level. Each _id is reached once, so that circles end.
class GraphLookup : public ForeignStage {
  public:
    GraphLookup(bson::Doc spec, const PipelineContext& context) : ForeignStage(context) {
        Names names(context, dialect::kToday);
        for (const Value& e : spec)
            parse_option(e, names);
        if (from_.empty() || as_.empty() || start_ == nullptr || connect_from_.empty() ||
            connect_to_.empty())
            base::fail(40105,
                       "$graphLookup requires 'from', 'as', 'startWith', 'connectFromField', and "
                       "'connectToField' to be specified.");
        prepare(names);
        inner_.reads_collection = false;  // a search finds no connections
        make_pipeline(restriction_);      // to be checked now, and not with the first document
    }

    void add_needs(Needs& needs) const override { start_->add_needs(needs); }
    void simplify_expressions() override { simplify(start_); }
    int further_levels() const override {
        return ForeignStage::further_levels() + static_cast<int>(depth_path_.size());
    }

  private:
    // About how many bytes a document, and a value that others are looked for by, take beside their
    // own.
    static constexpr int64_t kBytesPerDocument = 96;
    static constexpr int64_t kBytesPerValue = 64;
    // One query looks for at most so many values, of so many bytes.
    static constexpr size_t kValuesPerQuery = 1000;
    static constexpr size_t kValueBytesPerQuery = size_t{1} << 20;

    struct Found {
        bson::Object doc;
        int64_t depth;
    };

    void parse_option(const Value& e, Names& names) {
        const std::string_view name = e.name();
        if (name == "startWith") {
            start_ = parse_operand(e, names);
        } else if (name == "maxDepth") {
            max_depth_ = depth_option(e);
        } else if (name == "restrictSearchWithMatch") {
            if (!e.is_object())
                base::fail(40185, "restrictSearchWithMatch must be an object, not {}",
                           type_name(e.type()));
            restriction_ = e.as_doc();
        } else if (name == "from") {
            from_ = foreign_name(e, "$graphLookup");
        } else if (name == "as") {
            as_ = split_path(text_option(e), dialect::kToday);
        } else if (name == "connectFromField") {
            connect_from_ = split_path(text_option(e), dialect::kToday);
        } else if (name == "connectToField") {
            connect_to_ = text_option(e);
            split_path(connect_to_, dialect::kToday);
        } else if (name == "depthField") {
            depth_path_ = split_path(text_option(e), dialect::kToday);
        } else {
            base::fail(40104, "unknown argument to $graphLookup: {}", name);
        }
    }

    static std::string text_option(const Value& e) {
        if (!e.is_string())
            base::fail(40103, "$graphLookup argument '{}' must be a string, not {}", e.name(),
                       type_name(e.type()));
        return std::string(e.as_string());
    }

    static int64_t depth_option(const Value& e) {
        if (!e.is_number())
            base::fail(40100, "maxDepth requires numeric argument, not {}", type_name(e.type()));
        const double number = e.to_double();
        if (number < 0) base::fail(40101, "maxDepth requires nonnegative argument");
        constexpr double kEnd = 9223372036854775808.0;
        if (number != std::trunc(number) || number >= kEnd)
            base::fail(40102, "maxDepth could not be represented as a long long");
        return e.to_int64();
    }

    std::unique_ptr<Pipeline> make_pipeline(bson::Doc filter) const {
        const bson::Object match = bson::make("$match", filter);
        return Pipeline::parse(bson::make("0", match).doc(), inner_);
    }

    void find(bson::Doc doc) override {
        reached_.clear();
        ids_ = ValueSet(scope_.collator);
        asked_ = ValueSet(scope_.collator);
        next_.clear();
        bytes_ = 0;
        const Value start = start_->evaluate(scope_for(doc));
        if (start.is_array()) {
            for (const Value& e : start.as_doc())
                look_for(e);
        } else if (!start.missing()) {
            look_for(start);
        }
        for (int64_t depth = 0; !next_.empty() && (!max_depth_ || depth <= *max_depth_); ++depth) {
            sched::Vector<Value> values;
            values.swap(next_);
            read_level(values, depth);
        }
        DCHECK(reached_.size() == ids_.values().size());
        for (const Found& found : sched::ticked(reached_)) {
            if (depth_path_.empty()) {
                add_element(found.doc);
            } else {
                begin_element();
                write_with(found.doc, depth_path_, make_long(arena_, found.depth), found_);
            }
        }
    }

    // Behind what was looked for before, each value once.
    void look_for(const Value& v) {
        sched::tick();
        if (asked_.contains(v)) return;
        asked_.insert(v);
        next_.push_back(v);
        hold(kBytesPerValue);
    }

    void hold(int64_t bytes) {
        DCHECK(bytes > 0);
        bytes_ += bytes;
        if (spill::is_full(bytes_, kStageMemoryBytes))
            base::fail(40099, "$graphLookup reached maximum memory consumption");
    }

    void read_level(std::span<const Value> values, int64_t depth) {
        while (!values.empty()) {
            size_t count = 0;
            for (size_t bytes = 0;
                 count < values.size() && count < kValuesPerQuery && bytes <= kValueBytesPerQuery;
                 ++count)
                bytes += values[count].value_size();
            read(one_of(connect_to_, values.first(count)), depth);
            values = values.subspan(count);
        }
    }

    void read(const bson::Object& connected, int64_t depth) {
        bson::Builder filter;
        if (restriction_.empty()) {
            filter.append_all(connected);
        } else {
            bson::Builder both = filter.sub_array("$and");
            both.push(connected.doc());
            both.push(restriction_);
        }
        const auto pipeline = make_pipeline(filter.doc());
        inner_.foreign->connect(from_, *pipeline);
        bson::Doc doc;
        while (pipeline->next(&doc)) {
            sched::tick();
            reach(doc, depth);
        }
    }

    void reach(bson::Doc doc, int64_t depth) {
        const Value id = doc["_id"];
        if (id.missing())
            base::fail(40271,
                       "Documents in the '{}' namespace must contain an _id for de-duplication in "
                       "$graphLookup",
                       from_);
        if (ids_.contains(id)) return;
        hold(doc.size() + kBytesPerDocument);
        reached_.push_back({bson::Object(doc), depth});
        const bson::Doc kept = reached_.back().doc;
        ids_.insert(kept["_id"]);
        leads_to_.clear();
        append_values_at(kept, connect_from_, leads_to_);
        for (const Value& v : leads_to_)
            look_for(v);
    }

    ExpressionPtr start_;
    std::vector<std::string> connect_from_;
    std::string connect_to_;
    std::optional<int64_t> max_depth_;
    std::vector<std::string> depth_path_;
    bson::Doc restriction_;  // in the specification

    // The members from here on belong to the document that is worked on. The sets point into the
    // documents that were reached, which stay where they are, and into that one.
    sched::Vector<Found> reached_;
    ValueSet ids_{nullptr};
    ValueSet asked_{nullptr};
    sched::Vector<Value> next_;  // of asked_, what the next level looks for
    sched::Vector<Value> leads_to_;
    int64_t bytes_ = 0;
};

}  // namespace

StagePtr make_graph_lookup(const Value& spec, const PipelineContext& context) {
    if (!spec.is_object())
        base::fail(base::kFailedToParse,
                   "the $graphLookup stage specification must be an object, not {}",
                   type_name(spec.type()));
    return std::make_unique<GraphLookup>(spec.as_doc(), context);
}

}  // namespace query
