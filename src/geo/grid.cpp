#include "geo/grid.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <queue>

#include "base/error.h"
#include "sched/tick.h"

namespace geo {

namespace {

constexpr int kBitsMax = 32;
constexpr double kCells = 4294967296.0;
constexpr uint8_t kKeySubtype = 0x80;

// Puts a zero before each bit.
uint64_t spread(uint32_t bits) {
    uint64_t out = bits;
    for (const auto& [shift, mask] :
         {std::pair{16, 0x0000ffff0000ffffULL}, std::pair{8, 0x00ff00ff00ff00ffULL},
          std::pair{4, 0x0f0f0f0f0f0f0f0fULL}, std::pair{2, 0x3333333333333333ULL},
          std::pair{1, 0x5555555555555555ULL}})
        out = (out | (out << shift)) & mask;
    return out;
}

uint32_t every_second(uint64_t bits) {
    bits &= 0x5555555555555555ULL;
    for (const auto& [shift, mask] :
         {std::pair{1, 0x3333333333333333ULL}, std::pair{2, 0x0f0f0f0f0f0f0f0fULL},
          std::pair{4, 0x00ff00ff00ff00ffULL}, std::pair{8, 0x0000ffff0000ffffULL},
          std::pair{16, 0x00000000ffffffffULL}})
        bits = (bits | (bits >> shift)) & mask;
    return static_cast<uint32_t>(bits);
}

uint32_t fraction(double value, double min, double max) {
    const double scaled = std::floor((value - min) * (kCells / (max - min)));
    if (std::isnan(scaled)) return 0;  // of bounds that have no squares (Grid::has_squares())
    return static_cast<uint32_t>(std::clamp(scaled, 0.0, kCells - 1));
}

// The last number of a square of that level that begins with `number`.
uint64_t last_of(uint64_t number, int level) {
    return level >= kBitsMax ? number
                             : number | (std::numeric_limits<uint64_t>::max() >> (2 * level));
}

}  // namespace

Grid::Grid(bson::Doc spec) {
    const auto number = [&spec](std::string_view name, double otherwise) {
        const bson::Element e = spec[name];
        return e.is_number() ? e.to_double() : otherwise;
    };
    if (spec["bits"].is_number()) bits_ = spec["bits"].to_int32();
    if (bits_ < 1 || bits_ > kBitsMax)
        base::fail(16803, "bits in geo index must be between 1 and {}", kBitsMax);
    min_ = number("min", min_);
    max_ = number("max", max_);
}

bool Grid::has(Point place) const {
    return place.x >= min_ && place.x <= max_ && place.y >= min_ && place.y <= max_;
}

uint64_t Grid::number(Point place) const {
    if (!has(place))
        base::fail(13027, "point not in interval of [ {}, {} ] :: caused by {{ {}, {} }}", min_,
                   max_, place.x, place.y);
    const uint64_t all =
        spread(fraction(place.x, min_, max_)) << 1 | spread(fraction(place.y, min_, max_));
    return bits_ == kBitsMax ? all : all & ~(std::numeric_limits<uint64_t>::max() >> (2 * bits_));
}

void Grid::append_number(bson::Builder& out, uint64_t number) {
    std::array<uint8_t, sizeof number> bytes;
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<uint8_t>(number >> (8 * (bytes.size() - 1 - i)));
    out.append_binary("", kKeySubtype, bytes);
}

void Grid::append_key(bson::Builder& out, Point place) const {
    append_number(out, number(place));
}

bool Grid::has_squares() const {
    const double span = max_ - min_;
    return span > 0 && std::isfinite(span) && std::isfinite(kCells / span);
}

double Grid::square() const {
    return (max_ - min_) / std::pow(2.0, bits_);
}

Box Grid::box(uint64_t number, int level) const {
    // Rounding may have put a place into the square beside its own.
    const double largest = std::max({max_ - min_, std::abs(min_), std::abs(max_)});
    const double slack = largest * 4 * std::numeric_limits<double>::epsilon();
    const double span = (max_ - min_) / kCells;
    const double size = (max_ - min_) / std::pow(2.0, level);
    const double x = min_ + every_second(number >> 1) * span;
    const double y = min_ + every_second(number) * span;
    return {{x - slack, y - slack}, {x + size + slack, y + size + slack}};
}

std::vector<Span> Grid::cover(const std::function<Overlap(const Box&)>& overlap) const {
    if (!has_squares()) return {{0, last_of(0, 0)}};
    constexpr size_t kSquares = 24;
    struct Square {
        uint64_t number;
        int level;
        bool operator<(const Square& other) const {
            return level > other.level;
        }  // large ones first
    };
    std::priority_queue<Square> open;
    std::vector<Span> out;
    const auto look = [&](const Square& square) {
        sched::tick();
        switch (overlap(box(square.number, square.level))) {
            case Overlap::none:
                return;
            case Overlap::some:
                if (square.level < bits_) return open.push(square);
                [[fallthrough]];
            case Overlap::all:
                out.push_back({square.number, last_of(square.number, square.level)});
        }
    };
    look({0, 0});
    while (!open.empty() && open.size() + out.size() < kSquares) {
        const Square next = open.top();
        open.pop();
        for (uint64_t child = 0; child < 4; ++child)
            look({next.number | child << (2 * (kBitsMax - 1 - next.level)), next.level + 1});
    }
    for (; !open.empty(); open.pop())
        out.push_back({open.top().number, last_of(open.top().number, open.top().level)});
    std::ranges::sort(out, {}, &Span::first);
    std::vector<Span> joined;
    for (const Span& span : out) {
        if (!joined.empty() && joined.back().last + 1 == span.first)
            joined.back().last = span.last;
        else
            joined.push_back(span);
    }
    return joined;
}

}  // namespace geo
