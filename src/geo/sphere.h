// geo/sphere.h - shapes on the sphere: what geo.so computes for the server.
//
// The library of such shapes is linked by that file alone, which is loaded when a shape is first
// needed (geo/library.h). Nothing of the server crosses this border but what is declared here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace geo {

// On the sphere x is the longitude and y the latitude, in degrees.
struct Point {
    double x = 0;
    double y = 0;
    bool operator==(const Point&) const = default;
};

using Line = std::vector<Point>;

// The parts of one geometry: of one kind each, but for a collection.
struct Parts {
    std::vector<Point> points;
    std::vector<Line> lines;
    std::vector<std::vector<Line>> polygons;  // the outer ring and the holes of each, all closed
};

// How a shape is covered by cells: the face of a cube, cut into four again and again.
struct Covering {
    int coarsest = 0;  // levels: 0 is a face
    int finest = 0;
    int cells = 0;  // so many at most, where those of the coarsest level are no more
    // With cells that the shape only touches: what is on its edge may be in one of them.
    bool touched = false;
};

// A shape, ready to be asked. It never changes, and may be asked by several threads.
class Shape {
  public:
    virtual ~Shape() = default;
    virtual bool contains(const Shape& other) const = 0;
    virtual bool intersects(const Shape& other) const = 0;
    // In radians, from its nearest place; 0 inside.
    virtual double distance(Point from) const = 0;
    // Returns the numbers of cells, ascending.
    virtual std::vector<uint64_t> cover(const Covering& how) const = 0;
    // Of the rectangle around it, in units of the squared radius.
    virtual double extent() const = 0;
};

struct SphereLibrary {
    const char* version;  // of the server that it was made with
    // The function hears of each piece of work, before it is done, how many ticks (sched/tick.h) it
    // is. It may throw.
    void (*set_tick)(void (*tick)(int64_t cost));
    // Null: `why` says what is wrong with them.
    std::unique_ptr<Shape> (*make)(const Parts& parts, std::string& why);
    // All places that are between so far from `centre`, in radians.
    std::unique_ptr<Shape> (*make_ring)(Point centre, double inner, double outer);
};

inline constexpr const char* kSphereSymbol = "mongod_dur_sphere";

// "0f123": the face, and one digit for each level.
std::string cell_text(uint64_t cell);
int cell_level(uint64_t cell);
uint64_t cell_parent(uint64_t cell, int level);

}  // namespace geo
