#include "catalog/mixed_times.h"

#include <array>

#include "base/dcheck.h"
#include "bson/order_of_today.h"
#include "catalog/collection.h"
#include "sched/tick.h"

namespace catalog {

namespace {

using bson::Element;
using bson::Type;

bool is_any(const Element&) {
    return true;
}
bool has_members(const Element& e) {
    return e.is_object() || e.is_array();
}
bool is_code(const Element& e) {
    return e.type() == Type::code || e.type() == Type::code_with_scope;
}

// A run of keys, by their first value.
struct Run {
    bson::Object from;  // empty: the start
    bool (*is_inside)(const Element& first);
};

// Goes through the keys of runs that are in ascending order, until one stands elsewhere.
class Learning {
  public:
    Learning(const Index& index, storage::Direction direction, sched::YieldPoint* yield_point)
        : generator_(*index.generator),
          cursor_(index.store->cursor(direction)),
          loop_(yield_point) {}

    // Returns false if the index has gone.
    bool look_at(const Run& run) {
        if (run.from.empty())
            cursor_->seek_to_start();
        else
            cursor_->seek(run.from, false);
        while (!cursor_->at_end() && !mixes_times(generator_)) {
            sched::tick();
            if (loop_.is_due()) {
                if (!loop_.yield([this] { cursor_->save(); }, [this] { cursor_->restore(); }))
                    return false;
                if (cursor_->at_end()) break;
            }
            const bson::Doc key = cursor_->key();
            if (!run.is_inside(key.first())) break;
            note_times(generator_, key);
            cursor_->next();
        }
        return true;
    }

  private:
    const KeyGenerator& generator_;
    const std::unique_ptr<storage::IndexCursor> cursor_;
    sched::LongLoop loop_;
};

std::vector<Run> runs_of(const Index& index) {
    if (index.generator->fields().size() != 1) return {{bson::Object(), is_any}};
    bson::Builder date;
    date.append_date("", 0);  // no Timestamp is before it
    bson::Builder code;
    code.append_code("", "");
    std::vector<Run> runs;
    runs.push_back({bson::make("", bson::Doc()), has_members});
    runs.push_back({date.object(), bson::is_time});
    runs.push_back({code.object(), is_code});
    return runs;
}

}  // namespace

OrderOfTimes order_of_times(const Index& index) {
    DCHECK(index.generator != nullptr);
    if (mixes_times(*index.generator)) return OrderOfTimes::mixed;
    return knows_times(*index.generator) ? OrderOfTimes::of_today : OrderOfTimes::unknown;
}

bool learn_order_of_times(const Index& index, sched::YieldPoint* yield_point) {
    DCHECK(index.generator != nullptr && index.store != nullptr);
    const std::vector<Run> runs = runs_of(index);
    const bool against = runs.size() > 1 && (index.generator->descending_bits() & 1) != 0;
    Learning learning(index, against ? storage::Direction::backward : storage::Direction::forward,
                      yield_point);
    for (const Run& run : runs)
        if (!learning.look_at(run)) return false;
    set_knows_times(*index.generator);
    return true;
}

}  // namespace catalog
