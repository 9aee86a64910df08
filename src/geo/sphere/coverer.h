// geo/sphere/coverer.h - the cells that cover a shape, in the order of refinement of old indexes.
//
// S2's own coverer of today begins with other cells and merges them otherwise, so that its keys
// would not be those that old data files have. Ties are decided by the heap of the C++ library, as
// they were then: cells of equal rank are refined in the order that std::priority_queue gives.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <s2/s2cap.h>
#include <s2/s2cell.h>
#include <s2/s2cell_id.h>

#include "geo/sphere.h"

namespace geo {

class Coverable {
  public:
    virtual ~Coverable() = default;
    virtual bool may_meet(const S2Cell& cell) const = 0;  // false: surely not
    virtual bool touches(const S2Cell& cell) const = 0;   // Covering::touched
    virtual bool holds(const S2Cell& cell) const = 0;     // all of it
    virtual S2Cap around() const = 0;
};

// `is_wanted`: where it is there, cells for which it is false are left out.
std::vector<uint64_t> cover_with_cells(const Coverable& shape, const Covering& how,
                                       const std::function<bool(uint64_t cell)>& is_wanted = {});

}  // namespace geo
