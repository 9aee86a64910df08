#include "geo/sphere/coverer.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <utility>

#include <s2/s2cell_union.h>
#include <s2/s2metrics.h>

#include "geo/sphere/work.h"

namespace geo {

namespace {

constexpr int kChildren = 4;
constexpr int kChildBits = 2;

// A cell that meets the shape, with those of its children that do.
struct Candidate {
    S2Cell cell;
    bool is_final = false;  // taken as it is
    std::vector<std::unique_ptr<Candidate>> children;
};

class Coverer {
  public:
    Coverer(const Coverable& shape, const Covering& how,
            const std::function<bool(uint64_t)>& is_wanted)
        : shape_(shape), how_(how), is_wanted_(is_wanted) {}

    std::vector<S2CellId> run() {
        for (const S2CellId& first : first_cells())
            add(candidate(S2Cell(first)));
        while (!waiting_.empty()) {
            const std::unique_ptr<Candidate> next = std::move(kept_[waiting_.top().second]);
            waiting_.pop();
            const size_t count = result_.size() + waiting_.size() + next->children.size();
            if (next->cell.level() < how_.coarsest || next->children.size() == 1 ||
                count <= static_cast<size_t>(how_.cells)) {
                for (auto& child : next->children)
                    add(std::move(child));
            } else {
                result_.push_back(next->cell.id());
            }
        }
        S2CellUnion all;
        all.Init(std::move(result_));  // four sisters become their mother
        std::vector<S2CellId> out;
        all.Denormalize(how_.coarsest, 1, &out);
        return out;
    }

  private:
    // The least rank goes first: large cells, then those with few children that meet the shape.
    using Ranked = std::pair<int, size_t>;
    struct RankOnly {
        bool operator()(const Ranked& a, const Ranked& b) const { return a.first < b.first; }
    };

    std::vector<S2CellId> first_cells() const {
        std::vector<S2CellId> cells;
        const S2Cap cap = shape_.around();
        const int level =
            std::min(S2::kMinWidth.GetLevelForMinValue(2 * cap.GetRadius().radians()), how_.finest);
        if (how_.cells >= kChildren && level > 0) {
            S2CellId(cap.center()).AppendVertexNeighbors(level, &cells);
            return cells;
        }
        for (int face = 0; face < 6; ++face)
            cells.push_back(S2CellId::FromFace(face));
        return cells;
    }

    std::unique_ptr<Candidate> candidate(const S2Cell& cell) const {
        work(1);
        if (!shape_.may_meet(cell) && !(how_.touched && shape_.touches(cell))) return nullptr;
        if (is_wanted_ && !is_wanted_(cell.id().id())) return nullptr;
        auto made = std::make_unique<Candidate>();
        made->cell = cell;
        made->is_final =
            cell.level() >= how_.coarsest && (cell.level() >= how_.finest || shape_.holds(cell));
        return made;
    }

    // Looks at its children. Returns how many of them are final.
    int expand(Candidate& parent) const {
        S2Cell cells[kChildren];
        if (!parent.cell.Subdivide(cells)) return 0;
        int finals = 0;
        for (const S2Cell& cell : cells) {
            std::unique_ptr<Candidate> child = candidate(cell);
            if (child == nullptr) continue;
            if (child->is_final) ++finals;
            parent.children.push_back(std::move(child));
        }
        return finals;
    }

    void add(std::unique_ptr<Candidate> one) {
        if (one == nullptr) return;
        if (one->is_final) return result_.push_back(one->cell.id());
        const int finals = expand(*one);
        const auto children = static_cast<int>(one->children.size());
        if (children == 0) return;
        if (finals == kChildren && one->cell.level() >= how_.coarsest)
            return result_.push_back(one->cell.id());
        const int rank = -((((one->cell.level() << kChildBits) + children) << kChildBits) + finals);
        waiting_.emplace(rank, kept_.size());
        kept_.push_back(std::move(one));
    }

    const Coverable& shape_;
    const Covering how_;
    const std::function<bool(uint64_t)>& is_wanted_;
    std::vector<S2CellId> result_;
    std::vector<std::unique_ptr<Candidate>> kept_;
    std::priority_queue<Ranked, std::vector<Ranked>, RankOnly> waiting_;
};

}  // namespace

std::vector<uint64_t> cover_with_cells(const Coverable& shape, const Covering& how,
                                       const std::function<bool(uint64_t)>& is_wanted) {
    std::vector<uint64_t> out;
    for (const S2CellId& cell : Coverer(shape, how, is_wanted).run())
        out.push_back(cell.id());
    return out;
}

}  // namespace geo
