// query/stage/narrowing.h - the part of a document that is read, as dotted paths.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "bson/builder.h"
#include "bson/view.h"
#include "query/expression/expression.h"
#include "query/stage/stage.h"
#include "sched/counted.h"

namespace query {

// Writes documents that have only some fields, in their order. A field that is only on the way to
// others has of its documents, in arrays too, nothing else.
class Narrowing : public sched::Counted {
  public:
    // The rule for other values on the way, for which a path goes no further.
    enum class Others {
        // They stay: every path leads to the same, by whatever rule it is followed, but for
        // positions in arrays.
        kept,
        // Dropped as by find's projection.
        dropped
    };
    Narrowing(const Needs& needs, Others others);
    void write_doc(bson::Doc doc, bson::Buffer& out) const;
    // Whether it has no fields but those that are read as a whole.
    bool keeps_all(bson::Doc doc) const;

  private:
    explicit Narrowing(Others others) : others_(others) {}
    void add(std::string_view path);
    void write_inside(const Value& e, std::string_view name, bson::Buffer& out) const;

    const Others others_;
    using Field = std::pair<const sched::String, std::unique_ptr<Narrowing>>;
    std::map<sched::String, std::unique_ptr<Narrowing>, std::less<>,
             sched::CountingAllocator<Field>>
        fields_;  // none: the whole value
};

// Returns the path up to where a part may be a position in an array, for which narrowing has no
// place, or empty.
std::string_view path_without_positions(std::string_view path);

// A stage that passes on what later ones read.
StagePtr make_narrowing_stage(const Needs& needs);

}  // namespace query
