#include "query/plan/place_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "geo/library.h"
#include "geo/ring.h"

namespace query {

namespace {

IntervalList flat_intervals(const std::vector<geo::Span>& spans, ValueArena& arena) {
    const auto keep = [&arena](uint64_t number) {
        bson::Builder out;
        geo::Grid::append_number(out, number);
        return arena.keep(out.object());
    };
    IntervalList list;
    for (const geo::Span& span : spans)
        list.push_back({keep(span.first), keep(span.last), true, true});
    return list;
}

IntervalList cell_intervals(const geo::CellRanges& cells, ValueArena& arena) {
    IntervalList list;
    for (const auto& range : cells.ranges)
        list.push_back({arena.keep(bson::make("", range.low)),
                        arena.keep(bson::make("", range.high)), true, range.high_inclusive});
    return list;
}

// The numbers of one of the squares of a grid.
geo::Span span_of(const geo::Grid& grid, const geo::Box& square) {
    const double share = (grid.max() - grid.min()) / (square.high.x - square.low.x);
    const auto level = static_cast<int>(std::lround(std::log2(share)));
    const uint64_t below = level >= 32 ? 0 : std::numeric_limits<uint64_t>::max() >> (2 * level);
    const uint64_t inside = grid.number(
        {std::midpoint(square.low.x, square.high.x), std::midpoint(square.low.y, square.high.y)});
    return {inside & ~below, inside | below};
}

[[noreturn]] void fail_out_of_bounds(const geo::Grid& grid) {
    base::fail(16433, "a place is not in the bounds of the 2d index: {} to {}", grid.min(),
               grid.max());
}

}  // namespace

geo::IndexKind place_kind(const catalog::Index& index, size_t field) {
    if (!index.is_special) return geo::IndexKind::none;
    auto each = index.key_pattern.begin();
    for (size_t i = 0; i < field; ++i)
        ++each;
    return geo::index_kind(*each);
}

bool can_use_places(const MatchNode& node, const catalog::Index& index, size_t field) {
    if (node.kind != MatchKind::geo) return false;
    switch (place_kind(index, field)) {
        case geo::IndexKind::flat:
            return node.geo->flat() != nullptr;
        case geo::IndexKind::sphere:
            return node.geo->is_on_sphere();
        default:
            return false;
    }
}

IntervalList place_bounds(const MatchNode& node, const catalog::Index& index, ValueArena& arena) {
    if (index.generator->geo() == geo::IndexKind::sphere)
        return cell_intervals(node.geo->ranges(geo::SphereIndex(index.spec).coarsest), arena);
    const geo::Grid grid(index.spec);
    const geo::FlatShape& shape = *node.geo->flat();
    const geo::Box around = shape.bounds();
    for (const double end : {around.low.x, around.low.y, around.high.x, around.high.y})
        if (std::isnan(end)) fail_out_of_bounds(grid);
    return flat_intervals(
        grid.cover([&shape](const geo::Box& square) { return shape.overlap(square); }), arena);
}

bool can_find_near(const MatchNode& near, const catalog::Index& index, size_t* field) {
    const auto& fields = index.generator->fields();
    for (size_t i = 0; i < fields.size(); ++i) {
        if (fields[i] != near.path) continue;
        const geo::IndexKind kind = place_kind(index, i);
        *field = i;
        if (kind == geo::IndexKind::flat && near.near->can_use_flat()) return true;
        if (kind == geo::IndexKind::sphere && near.near->can_use_sphere()) return true;
    }
    return false;
}

void check_centre(const MatchNode& near, const catalog::Index& index) {
    if (index.generator->geo() != geo::IndexKind::flat) return;
    const geo::Grid grid(index.spec);
    if (!grid.has(near.near->parts().centre)) fail_out_of_bounds(grid);
}

IntervalList ring_bounds(const geo::Near& near, const catalog::Index& index, double inner,
                         double outer, const HasKeys& has_keys, ValueArena& arena) {
    const geo::Point centre = near.parts().centre;
    if (index.generator->geo() == geo::IndexKind::sphere) {
        constexpr int kCells = 16;
        // Rounding may put a place on the other side of the border.
        const double slack = 1e-9;
        const auto shape = geo::sphere().make_ring(centre, inner - slack, outer + slack);
        const auto& ring = static_cast<const geo::Ring&>(*shape);
        const geo::SphereIndex levels(index.spec);
        const int coarsest = levels.coarsest;
        geo::Covering how = geo::query_covering(ring.extent(), coarsest);
        how.cells = kCells;
        if (has_keys) how.finest = std::max(how.finest, levels.finest);
        const auto is_wanted = [&](uint64_t cell) {
            return has_keys(cell_intervals(geo::ranges_of_cells({cell}, coarsest), arena));
        };
        return cell_intervals(
            geo::ranges_of_cells(has_keys ? ring.cover_wanted(how, is_wanted) : ring.cover(how),
                                 coarsest),
            arena);
    }
    const geo::Grid grid(index.spec);
    const auto shape =
        near.parts().spherical ? geo::make_cap(centre, outer) : geo::make_circle(centre, outer);
    const bool flat = !near.parts().spherical;
    const auto hole = geo::make_circle(centre, inner * (1 - 1e-12));
    return flat_intervals(grid.cover([&](const geo::Box& square) {
        const geo::Overlap with = shape->overlap(square);
        const bool in_hole = flat && inner > 0 && with != geo::Overlap::none &&
                             hole->overlap(square) == geo::Overlap::all;
        const bool is_wanted =
            with != geo::Overlap::none && !in_hole &&
            (!has_keys || has_keys(flat_intervals({span_of(grid, square)}, arena)));
        return is_wanted ? with : geo::Overlap::none;
    }),
                          arena);
}

double farthest(const geo::Near& near, const catalog::Index& index) {
    if (near.parts().spherical) return std::numbers::pi;
    const geo::Grid grid(index.spec);
    return 2 * (grid.max() - grid.min());
}

double likely_reach(const geo::Near& near, const catalog::Index& index, int64_t wanted,
                    int64_t documents) {
    const double share =
        static_cast<double>(wanted) / static_cast<double>(std::max<int64_t>(documents, 1));
    // Twice as many as are wanted where places are even: over a sphere, over degrees on a plane.
    const bool on_plane = index.generator->geo() == geo::IndexKind::flat && !near.parts().spherical;
    const double even = on_plane ? 0.3 : 1;
    const double all = farthest(near, index);
    return std::clamp(even * all * std::sqrt(std::min(share, 1.0)), all * 1e-9, all);
}

}  // namespace query
