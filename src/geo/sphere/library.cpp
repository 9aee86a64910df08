// What geo.so shows to the program that loads it.
#include "base/program_version.h"
#include "geo/sphere/parts_shape.h"
#include "geo/sphere/work.h"

namespace geo {

namespace {

void set_tick(void (*tick)(int64_t cost)) {
    g_tick = tick;
}

std::unique_ptr<Shape> make(const Parts& parts, std::string& why) {
    return PartsShape::make(parts, why);
}

std::unique_ptr<Shape> make_ring(Point centre, double inner, double outer) {
    return std::make_unique<RingShape>(centre, inner, outer);
}

}  // namespace

}  // namespace geo

extern "C" __attribute__((visibility("default"))) const geo::SphereLibrary mongod_dur_sphere;
const geo::SphereLibrary mongod_dur_sphere = {base::kProgramVersion, geo::set_tick, geo::make,
                                              geo::make_ring};
