// geo/grid.h - the squares of the plane that a 2d index has: a number for each place.
//
// Each coordinate is a fraction of the span of the index, of 32 bits; the number has the bits of x
// and y in turn, from the top, and zeros behind those that the index keeps. Places that are close
// have, mostly, numbers that are.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bson/builder.h"
#include "bson/view.h"
#include "geo/sphere.h"

namespace geo {

struct Box {
    Point low, high;  // with their edges
    bool contains(Point place) const {
        return place.x >= low.x && place.x <= high.x && place.y >= low.y && place.y <= high.y;
    }
    bool meets(const Box& other) const {
        return low.x <= other.high.x && other.low.x <= high.x && low.y <= other.high.y &&
               other.low.y <= high.y;
    }
};

// A range of numbers, both ends included.
struct Span {
    uint64_t first, last;
    bool operator==(const Span&) const = default;
};

enum class Overlap { none, some, all };

class Grid {
  public:
    // `spec`: an index definition with bits, min and max. Throws base::Error 16803.
    explicit Grid(bson::Doc spec);

    double min() const { return min_; }
    double max() const { return max_; }
    bool has(Point place) const;
    // Throws base::Error 13027 for a place outside.
    uint64_t number(Point place) const;
    // Appends the key of a place, as an index has it: eight bytes, the highest first.
    void append_key(bson::Builder& out, Point place) const;
    static void append_number(bson::Builder& out, uint64_t number);

    // Few ranges that together have all numbers of places where `overlap` is not none; one with
    // all numbers where the bounds have no squares.
    std::vector<Span> cover(const std::function<Overlap(const Box&)>& overlap) const;
    // How far a place may lie from the corner of its square.
    double square() const;

  private:
    Box box(uint64_t number, int level) const;
    // Whether the span is a number that can be divided. Old servers took any bounds; where this is
    // not so, the numbers tell nothing of where places are.
    bool has_squares() const;

    int bits_ = 26;
    double min_ = -180;
    double max_ = 180;
};

}  // namespace geo
