#include "storage/mmapv1/space/definition_store.h"

#include "base/thread_scratch.h"
#include "storage/mmapv1/space/index_definition.h"

namespace mmapv1 {

namespace {

// Returns the definition as it is shown, until the thread asks for another one.
bson::Doc shown(bson::Doc stored) {
    struct Shown {
        std::vector<uint8_t> bytes;
    };
    std::vector<uint8_t>& bytes = base::thread_scratch<Shown>().bytes;
    const bson::Object definition = shown_definition(stored);
    bytes.assign(definition.bytes().begin(), definition.bytes().end());
    return bson::Doc(bytes.data());
}

class ShownCursor final : public storage::RecordCursor {
  public:
    explicit ShownCursor(std::unique_ptr<storage::RecordCursor> of) : of_(std::move(of)) {}

    std::optional<storage::Record> next() override {
        std::optional<storage::Record> record = of_->next();
        if (record) record->doc = shown(record->doc);
        return record;
    }
    void seek(storage::RecordId id) override { of_->seek(id); }
    void save() override { of_->save(); }
    bool restore() override { return of_->restore(); }

  private:
    const std::unique_ptr<storage::RecordCursor> of_;
};

}  // namespace

bson::Doc DefinitionStore::get(storage::RecordId id) const {
    return shown(MmapRecordStore::get(id));
}

std::unique_ptr<storage::RecordCursor> DefinitionStore::open_cursor(storage::Direction direction) {
    return std::make_unique<ShownCursor>(MmapRecordStore::open_cursor(direction));
}

}  // namespace mmapv1
