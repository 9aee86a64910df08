// Ends the rows of cursors. If a read of memory that was given back is not noticed, the last row
// that has ended is kept, overwritten: a late reader then finds no document. A large row is shown
// where it is, and does not end: no limit of memory counts its copy.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "storage/record_store.h"

namespace storage {

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kIsNoticed = true;
#else
constexpr bool kIsNoticed = false;
#endif

class BriefRows final : public RecordCursor {
  public:
    explicit BriefRows(std::unique_ptr<RecordCursor> of) : of_(std::move(of)) {}
    ~BriefRows() override { end(); }

    std::optional<Record> next() override {
        end();
        std::optional<Record> record = of_->next();
        if (!record) return record;
        const auto bytes = record->doc.bytes();
        if (bytes.size() > kLargeBytes) return record;
        shown_.assign(bytes.begin(), bytes.end());
        record->doc = bson::Doc(shown_.data());
        return record;
    }
    void seek(RecordId id) override {
        end();
        of_->seek(id);
    }
    void save() override {
        end();
        of_->save();
    }
    bool restore() override { return of_->restore(); }

  private:
    static constexpr size_t kLargeBytes = 256 * 1024;

    void end() {
        constexpr uint8_t kEnded = 0xdb;
        if (shown_.empty()) return;
        std::ranges::fill(shown_, kEnded);
        std::vector<uint8_t> ended = std::exchange(shown_, {});
        if constexpr (kIsNoticed) return;
        static std::mutex mutex;
        static auto& last = *new std::vector<uint8_t>;
        const std::lock_guard lock(mutex);
        last.swap(ended);
    }

    const std::unique_ptr<RecordCursor> of_;
    std::vector<uint8_t> shown_;
};

}  // namespace

std::unique_ptr<RecordCursor> with_brief_rows(std::unique_ptr<RecordCursor> cursor) {
    return std::make_unique<BriefRows>(std::move(cursor));
}

}  // namespace storage
