// geo/ring.h - what SphereLibrary::make_ring makes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "geo/sphere.h"

namespace geo {

class Ring : public Shape {
  public:
    // Covers as cover() does, without cells for which `is_wanted` is false: others can be smaller.
    virtual std::vector<uint64_t> cover_wanted(
        const Covering& how, const std::function<bool(uint64_t cell)>& is_wanted) const = 0;
};

}  // namespace geo
