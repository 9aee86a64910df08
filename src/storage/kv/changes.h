// storage/kv/changes.h - changes of rows in the order in which they are made: what is to become a
// commit (Batch, map.h).
//
// They lie in blocks that do not move, so a change stays where it is until it is taken back, or all
// of them go. A row that is larger than a block has one of its own, without room to spare.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/dcheck.h"
#include "storage/kv/map.h"

namespace kv {

class Changes final : public Batch {
  public:
    // A change where it lies; its key and its value are behind it.
    class Made {
      public:
        Table table() const { return table_; }
        Bytes key() const { return {bytes(), key_bytes_}; }
        // Nothing: the row goes.
        std::optional<Bytes> value() const {
            if (value_bytes_ == kErased) return std::nullopt;
            return Bytes(bytes() + key_bytes_, value_bytes_);
        }
        // The overlay's: the change of the same row before this one, and that this one goes.
        const Made* former = nullptr;
        bool is_taken_back = false;

      private:
        friend class Changes;
        static constexpr uint32_t kErased = UINT32_MAX;

        Made(Table table, Bytes key, const Bytes* value);
        const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(this + 1); }
        // Returns how much of its block it takes.
        size_t size() const {
            return room_for(key_bytes_ + (value_bytes_ == kErased ? 0 : size_t{value_bytes_}));
        }

        Table table_;
        uint32_t key_bytes_;
        uint32_t value_bytes_;  // or kErased
    };

    // Where the changes end.
    struct Mark {
        size_t blocks = 0;
        size_t used = 0;  // of the last one
        size_t bytes = 0;
    };

    // Adds a change; without a value the row goes.
    Made& add(Table table, Bytes key, const Bytes* value);
    void put(Table table, Bytes key, Bytes value) { add(table, key, &value); }
    void erase(Table table, Bytes key) { add(table, key, nullptr); }
    bool empty() const { return bytes_ == 0; }
    Mark mark() const {
        return {blocks_.size(), blocks_.empty() ? 0 : blocks_.back().used, bytes_};
    }
    // Takes back the changes since the mark; calls `use` with each of them in their order before
    // any of them goes.
    template <typename Use>
    void roll_back(const Mark& mark, const Use& use) {
        for (size_t i = mark.blocks == 0 ? 0 : mark.blocks - 1; i < blocks_.size(); ++i)
            blocks_[i].each_from(i + 1 == mark.blocks ? mark.used : 0, use);
        cut(mark);
    }
    void clear();
    template <typename Use>
    void each_made(const Use& use) {
        for (Block& block : blocks_)
            block.each_from(0, use);
    }

    // Batch:
    size_t bytes() const override { return bytes_; }
    bool each(const std::function<bool(const Change&)>& use) const override;
    void take(const std::function<void(const Change&)>& use) override;

    // Returns how much memory the blocks have.
    size_t memory_bytes() const;

  private:
    struct Block {
        explicit Block(size_t room) : bytes(new uint8_t[room]), size(room) {}

        template <typename Use>
        void each_from(size_t at, const Use& use) const {
            while (at < used) {
                Made& made = *reinterpret_cast<Made*>(bytes.get() + at);
                at += made.size();
                use(made);
            }
            DCHECK(at == used);
        }

        std::unique_ptr<uint8_t[]> bytes;
        size_t size;
        size_t used = 0;
    };

    static constexpr size_t room_for(size_t bytes) {
        const size_t room = sizeof(Made) + bytes;
        return room + (alignof(Made) - room % alignof(Made)) % alignof(Made);
    }
    static Change change_of(const Made& made) { return {made.table(), made.key(), made.value()}; }

    uint8_t* place(size_t room);
    void cut(const Mark& mark);

    std::vector<Block> blocks_;
    size_t bytes_ = 0;  // that are used of them
};

}  // namespace kv
