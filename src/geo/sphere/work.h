// geo/sphere/work.h - says how much is to be computed before it is: the library of shapes itself
// cannot be ended in the middle of a call.
#pragma once

#include <cstdint>

#include <s2/mutable_s2shape_index.h>

namespace geo {

// SphereLibrary::set_tick.
inline void (*g_tick)(int64_t cost) = nullptr;

// In ticks (sched/tick.h). Throws what the server throws where that is too much.
inline void work(int64_t cost) {
    if (g_tick != nullptr) g_tick(cost);
}

// To look once at so many edges, or places.
inline void work_on_edges(int64_t count) {
    constexpr int64_t kPerTick = 4;
    work(1 + count / kPerTick);
}

// To compare each two edges that share a cell of the index: all, where they are long.
inline void work_on_pairs(const MutableS2ShapeIndex& index) {
    int64_t pairs = 0;
    for (MutableS2ShapeIndex::Iterator cells(&index, S2ShapeIndex::BEGIN); !cells.done();
         cells.Next()) {
        int64_t edges = 0;
        for (int i = 0; i < cells.cell().num_clipped(); ++i)
            edges += cells.cell().clipped(i).num_edges();
        pairs += edges * edges;
    }
    work_on_edges(pairs);
}

}  // namespace geo
