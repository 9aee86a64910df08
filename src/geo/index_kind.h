// geo/index_kind.h - the indexes of places: what their definitions may say, and the keys of values.
#pragma once

#include <functional>
#include <string>

#include "bson/builder.h"
#include "bson/view.h"
#include "geo/grid.h"
#include "geo/sphere.h"

namespace geo {

enum class IndexKind { none, flat, sphere, haystack };

// By the kind of an index field: "2d", "2dsphere", "geoHaystack".
IndexKind index_kind(const bson::Element& of_key);
// Of the whole key; several kinds in one are refused elsewhere.
IndexKind index_kind(bson::Doc key);

// The levels of cells that a 2dsphere index keeps, and what it takes.
struct SphereIndex {
    // `spec`: a definition with 2dsphereIndexVersion and the levels. Throws base::Error 16747 to
    // 16749, 16823, 17394.
    explicit SphereIndex(bson::Doc spec);
    static constexpr int kVersionOfToday = 3;

    int version = 2;
    int coarsest = 7;
    int finest = 14;

    // Calls `add` with the text of each cell of a value. Throws base::Error 16754, 16755. Returns
    // false for a value that is no geometry and may be there.
    bool cells(const bson::Element& value,
               const std::function<void(const std::string&)>& add) const;
};

// Throws base::Error 16769 to 16777 for a definition of a haystack that cannot be.
struct Haystack {
    explicit Haystack(bson::Doc spec);

    double bucket = 1;
    std::string location, other;

    // The bucket of a value. Throws base::Error 16775, 16776, 8.
    std::string text(const bson::Element& value) const;
    int number(double coordinate) const;
    static std::string text(int x, int y);
};

// Calls `add` with each place of a value of a 2d index. Throws base::Error 13026, 13068, 16804.
void for_each_place(const bson::Element& value, const std::function<void(Point)>& add);

// Throws what the constructors above do, and base::Error 16800 to 16803.
void check_index(bson::Doc spec);

}  // namespace geo
