// Keys that are made of those of another generator: under a collation, or of some documents only.
#include <utility>

#include "catalog/index_keys.h"
#include "query/match/times.h"
#include "sched/tick.h"

namespace catalog {

namespace {

// The keys of another one, with keys of a collation for the texts in them.
class CollatedKeyGenerator final : public KeyGenerator {
  public:
    CollatedKeyGenerator(std::unique_ptr<KeyGenerator> of,
                         std::shared_ptr<const collation::Collator> collator)
        : KeyGenerator(*of), of_(std::move(of)) {
        collator_ = std::move(collator);
    }

    void keys(bson::Doc doc, KeySet& out) const override {
        KeySet plain;
        of_->keys(doc, plain);
        out.clear();
        for (const size_t i : sched::rounds<size_t>(0, plain.size())) {
            const size_t start = out.buffer().size();
            bson::Builder key(out.buffer());
            for (const bson::Element& e : plain[i])
                collator_->append_key("", e, key);
            key.finish();
            out.add(start);
        }
        if (out.size() > 1) out.normalise(descending_);
    }

    const KeyGenerator* of() const override { return of_.get(); }

  private:
    const std::unique_ptr<KeyGenerator> of_;
};

// The keys of another one, for documents that match a filter.
class PartialKeyGenerator final : public KeyGenerator {
  public:
    PartialKeyGenerator(std::unique_ptr<KeyGenerator> of, bson::Doc filter)
        : KeyGenerator(*of), of_(std::move(of)) {
        filter_ = query::Matcher::parse(filter, &query::kNoExpressionsInIndexes, collator_);
        add_paths(filter_->root());
    }

    void keys(bson::Doc doc, KeySet& out) const override {
        if (filter_->matches(doc))
            of_->keys(doc, out);
        else
            out.clear();
    }
    bool may_change_keys(std::string_view path) const override {
        return of_->may_change_keys(path);
    }
    const KeyGenerator* of() const override { return of_.get(); }

  private:
    void add_paths(const query::MatchNode& node) {
        if (!node.path.empty()) filter_paths_.push_back(node.path);
        for (const auto& child : node.children)
            add_paths(*child);
    }

    const std::unique_ptr<KeyGenerator> of_;
};

}  // namespace

std::unique_ptr<KeyGenerator> make_collated_keys(
    std::unique_ptr<KeyGenerator> of, std::shared_ptr<const collation::Collator> collator) {
    return std::make_unique<CollatedKeyGenerator>(std::move(of), std::move(collator));
}

std::unique_ptr<KeyGenerator> make_partial_keys(std::unique_ptr<KeyGenerator> of,
                                                bson::Doc filter) {
    return std::make_unique<PartialKeyGenerator>(std::move(of), filter);
}

}  // namespace catalog
