// geo/sphere/signs.h - on which side a place lies, as the indexes of old data files were made.
//
// Three places on one great circle have no side. The answer must be the same for each who asks, so
// they are taken as moved by an infinitely small vector: here all by the same one. S2 of today
// moves each by its own, and then lines along a meridian or the equator have other cells.
#pragma once

#include <s2/s2cell.h>
#include <s2/s2point.h>
#include <s2/s2polyline.h>

namespace geo {

// 1: a, b, c run to the left as seen from outside; -1: to the right; 0: two of them are one place.
int sign(const S2Point& a, const S2Point& b, const S2Point& c);

// 1: the edges cross inside; 0: they share an end; -1: neither.
int crossing(const S2Point& a, const S2Point& b, const S2Point& c, const S2Point& d);

bool line_meets_cell(const S2Polyline& line, const S2Cell& cell);
bool lines_meet(const S2Polyline& a, const S2Polyline& b);

}  // namespace geo
