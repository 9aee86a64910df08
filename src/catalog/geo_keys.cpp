#include "catalog/index_keys.h"

#include <algorithm>

#include "base/error.h"
#include "bson/compare.h"
#include "query/match/path.h"
#include "sched/tick.h"
#include "storage/index_limits.h"
#include "storage/sorted_index.h"

namespace catalog {

namespace {

using bson::Doc;
using bson::Element;
using bson::FieldPath;
using query::LeafArrays;
using query::PathValue;

// Calls `use` for each value at the path that is there.
template <typename Use>
void for_each_value(const FieldPath& path, Doc doc, LeafArrays arrays, Use&& use) {
    query::visit_values(path, doc, arrays, [&](const PathValue& found) {
        if (!found.value.missing() && !found.whole_array) use(found.value);
        return false;
    });
}

// One value, of the key or a part of it.
bson::Object one(const Element& value) {
    bson::Builder out;
    out.append_as("", value);
    return out.object();
}

bson::Object null_value() {
    bson::Builder out;
    out.append_null("");
    return out.object();
}

class GeoKeyGenerator : public KeyGenerator {
  public:
    explicit GeoKeyGenerator(Doc spec) : KeyGenerator(spec) {
        for (const Element& e : spec["key"].as_doc()) {
            paths_.emplace_back(e.name(), storage::kStoredPartsMax);
            kinds_.push_back(geo::index_kind(e));
        }
        geo_ = geo::index_kind(spec["key"].as_doc());
    }

  protected:
    // Values of one field, each of which is in a key of its own with each one of the other fields.
    using Values = std::vector<bson::Object>;

    void combine(const std::vector<Values>& fields, KeySet& out) const {
        std::vector<size_t> chosen(fields.size());
        for (;;) {
            sched::tick();
            const size_t start = out.buffer().size();
            bson::Builder key(out.buffer());
            for (size_t i = 0; i < fields.size(); ++i)
                key.append_as("", fields[i][chosen[i]].doc().first());
            key.finish();
            out.add(start);
            size_t field = fields.size();
            while (field > 0 && ++chosen[field - 1] == fields[field - 1].size())
                chosen[--field] = 0;
            if (field == 0) break;
        }
        if (out.size() > 1) out.normalise(descending_);
    }

    // The values are those of a plain index, but an empty array gives none.
    static Values plain(const FieldPath& path, Doc doc) {
        Values out;
        for_each_value(path, doc, LeafArrays::expand,
                       [&](const Element& value) { out.push_back(one(value)); });
        if (out.empty()) out.push_back(null_value());
        return out;
    }

    std::vector<FieldPath> paths_;
    std::vector<geo::IndexKind> kinds_;
};

// The other fields of such an index are kept whole: an array is one value.
class FlatKeyGenerator final : public GeoKeyGenerator {
  public:
    explicit FlatKeyGenerator(Doc spec) : GeoKeyGenerator(spec), grid_(spec) { sparse_ = true; }

    void keys(Doc doc, KeySet& out) const override {
        out.clear();
        std::vector<Values> values(1);
        for_each_value(paths_[0], doc, LeafArrays::keep, [&](const Element& value) {
            geo::for_each_place(value, [&](geo::Point place) {
                bson::Builder key;
                grid_.append_key(key, place);
                values[0].push_back(key.object());
            });
        });
        if (values[0].empty()) return;
        for (size_t i = 1; i < paths_.size(); ++i)
            values.push_back({whole(paths_[i], doc)});
        combine(values, out);
    }

  private:
    static bson::Object whole(const FieldPath& path, Doc doc) {
        std::vector<Element> found;
        for_each_value(path, doc, LeafArrays::keep, [&](const Element& value) {
            if (!value.is_array() || !value.as_doc().empty()) found.push_back(value);
        });
        if (found.empty()) return null_value();
        std::ranges::sort(found, bson::ValueLess());
        const auto same = [](const Element& a, const Element& b) {
            return bson::equal_values(a, b);
        };
        found.erase(std::unique(found.begin(), found.end(), same), found.end());
        if (found.size() == 1) return one(found.front());
        bson::Builder out;
        {
            bson::Builder array = out.sub_array("");
            for (const Element& value : found)
                array.push_element(value);
        }
        return out.object();
    }

    const geo::Grid grid_;
};

class SphereKeyGenerator final : public GeoKeyGenerator {
  public:
    explicit SphereKeyGenerator(Doc spec) : GeoKeyGenerator(spec), index_(spec) {
        sparse_ = index_.version > 1;
    }

    void keys(Doc doc, KeySet& out) const override {
        out.clear();
        std::vector<Values> values;
        bool any = false;
        for (size_t i = 0; i < paths_.size(); ++i) {
            if (kinds_[i] == geo::IndexKind::none) {
                values.push_back(plain(paths_[i], doc));
            } else {
                values.push_back(cells(paths_[i], doc));
                any = any || values.back().front().doc().first().type() != bson::Type::null;
            }
        }
        if (any || index_.version == 1) combine(values, out);
    }

  private:
    Values cells(const FieldPath& path, Doc doc) const {
        Values out;
        for_each_value(path, doc, LeafArrays::keep, [&](const Element& value) {
            index_.cells(value,
                         [&](const std::string& text) { out.push_back(bson::make("", text)); });
        });
        if (out.empty()) out.push_back(null_value());
        return out;
    }

    const geo::SphereIndex index_;
};

class HaystackKeyGenerator final : public GeoKeyGenerator {
  public:
    explicit HaystackKeyGenerator(Doc spec) : GeoKeyGenerator(spec), haystack_(spec) {
        sparse_ = true;
    }

    void keys(Doc doc, KeySet& out) const override {
        out.clear();
        const Element place = doc.at_path(fields_[0]);
        if (place.missing()) return;
        combine({{bson::make("", haystack_.text(place))}, plain(paths_[1], doc)}, out);
    }

  private:
    const geo::Haystack haystack_;
};

}  // namespace

std::unique_ptr<KeyGenerator> make_geo_keys(Doc spec) {
    switch (geo::index_kind(spec["key"].as_doc())) {
        case geo::IndexKind::sphere:
            return std::make_unique<SphereKeyGenerator>(spec);
        case geo::IndexKind::haystack:
            return std::make_unique<HaystackKeyGenerator>(spec);
        default:
            return std::make_unique<FlatKeyGenerator>(spec);
    }
}

}  // namespace catalog
