#include "geo/sphere/signs.h"

#include <array>

#include <s2/s2coords.h>

#include "geo/sphere/work.h"

namespace geo {

namespace {

// Below it rounding may have decided the determinant of three places.
constexpr double kSure = 1.6e-15;

int sign_of(double value) {
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

struct Flat {
    double x, y;
    bool operator<(const Flat& other) const { return x != other.x ? x < other.x : y < other.y; }
    double norm() const { return x * x + y * y; }
};

double cross(const Flat& a, const Flat& b) {
    return a.x * b.y - a.y * b.x;
}

// The sign of a x b by the shorter of the two and what lies between them.
int turn(const Flat& a, const Flat& b) {
    const double side = a.x * b.x + a.y * b.y > 0 ? -1 : 1;
    const Flat between{a.x + side * b.x, a.y + side * b.y};
    const double na = a.norm();
    const double nb = b.norm();
    return na < nb || (na == nb && a < b) ? sign_of(cross(a, between) * side)
                                          : sign_of(cross(between, b));
}

int turns(const Flat& a, const Flat& b, const Flat& c) {
    return sign_of(turn(a, b) + turn(b, c) + turn(c, a));
}

// By the two shortest differences of the three, which lose least.
int sign_by_differences(const S2Point& a, const S2Point& b, const S2Point& c) {
    const double sab = a.DotProd(b) > 0 ? -1 : 1;
    const double sbc = b.DotProd(c) > 0 ? -1 : 1;
    const double sca = c.DotProd(a) > 0 ? -1 : 1;
    const S2Point ab = a + sab * b;
    const S2Point bc = b + sbc * c;
    const S2Point ca = c + sca * a;
    const double nab = ab.Norm2();
    const double nbc = bc.Norm2();
    const double nca = ca.Norm2();
    const auto shorter = [](double first, double second, bool tie) {
        return first < second || (first == second && tie);
    };
    if (shorter(nca, nbc, a < b)) {
        if (shorter(nab, nbc, a < c)) return sign_of(ab.CrossProd(ca).DotProd(a) * sab);
        return sign_of(ca.CrossProd(bc).DotProd(c) * sca);
    }
    if (shorter(nab, nca, b < c)) return sign_of(bc.CrossProd(ab).DotProd(b) * sbc);
    return sign_of(ca.CrossProd(bc).DotProd(c) * sca);
}

// With its border, which S2 of today draws a little wider.
bool is_in(const S2Cell& cell, const S2Point& place) {
    R2Point at;
    return S2::FaceXYZtoUV(cell.face(), place, &at) && cell.GetBoundUV().Contains(at);
}

}  // namespace

int sign(const S2Point& a, const S2Point& b, const S2Point& c) {
    const double determinant = a.CrossProd(b).DotProd(c);
    if (determinant > kSure) return 1;
    if (determinant < -kSure) return -1;
    if (a == b || b == c || c == a) return 0;
    if (const int found = sign_by_differences(a, b, c); found != 0) return found;
    for (const auto& [x, y] : {std::array{1, 2}, std::array{2, 0}, std::array{0, 1}}) {
        const int found = turns({a[x], a[y]}, {b[x], b[y]}, {c[x], c[y]});
        if (found != 0) return found;
    }
    return 0;
}

int crossing(const S2Point& a, const S2Point& b, const S2Point& c, const S2Point& d) {
    const int acb = -sign(a, b, c);
    const int bda = sign(a, b, d);
    if (acb == 0 || bda == 0) return a == b || c == d ? -1 : 0;
    if (bda != acb) return -1;
    if (-sign(c, d, b) != acb) return c == b || d == b ? 0 : -1;
    return sign(c, d, a) == acb ? 1 : c == a || d == a ? 0 : -1;
}

bool line_meets_cell(const S2Polyline& line, const S2Cell& cell) {
    const int count = line.num_vertices();
    work_on_edges(count);
    for (int i = 0; i < count; ++i)
        if (is_in(cell, line.vertex(i))) return true;
    std::array<S2Point, 4> corners;
    for (int i = 0; i < 4; ++i)
        corners[static_cast<size_t>(i)] = cell.GetVertex(i);
    for (size_t j = 0; j < corners.size(); ++j)
        for (int i = 1; i < count; ++i)
            if (crossing(corners[j], corners[(j + 1) % 4], line.vertex(i - 1), line.vertex(i)) >= 0)
                return true;
    return false;
}

bool lines_meet(const S2Polyline& a, const S2Polyline& b) {
    if (!a.GetRectBound().Intersects(b.GetRectBound())) return false;
    for (int i = 1; i < a.num_vertices(); ++i) {
        work_on_edges(b.num_vertices());
        for (int j = 1; j < b.num_vertices(); ++j)
            if (crossing(a.vertex(i - 1), a.vertex(i), b.vertex(j - 1), b.vertex(j)) >= 0)
                return true;
    }
    return false;
}

}  // namespace geo
