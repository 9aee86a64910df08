#include <bit>

#include "geo/sphere.h"

namespace geo {

namespace {

constexpr int kLevelsMax = 30;
constexpr int kFaceShift = 61;

}  // namespace

// The number of a cell is the face, two bits for each level, and a one behind them.
int cell_level(uint64_t cell) {
    return kLevelsMax - std::countr_zero(cell) / 2;
}

uint64_t cell_parent(uint64_t cell, int level) {
    const uint64_t end = uint64_t{1} << (2 * (kLevelsMax - level));
    return (cell & -end) | end;
}

std::string cell_text(uint64_t cell) {
    std::string text{static_cast<char>('0' + (cell >> kFaceShift)), 'f'};
    const int level = cell_level(cell);
    for (int i = 0; i < level; ++i)
        text += static_cast<char>('0' + ((cell >> (kFaceShift - 2 - 2 * i)) & 3));
    return text;
}

}  // namespace geo
