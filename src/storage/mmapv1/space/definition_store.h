// storage/mmapv1/space/definition_store.h - system.indexes as clients read it: definitions as
// storage/engine.h has them, whatever they are like on disk (index_definition.h).
#pragma once

#include "storage/mmapv1/space/record_store.h"

namespace mmapv1 {

class DefinitionStore final : public MmapRecordStore {
  public:
    using MmapRecordStore::MmapRecordStore;

    bson::Doc get(storage::RecordId id) const override;
    std::unique_ptr<storage::RecordCursor> open_cursor(storage::Direction direction) override;
};

}  // namespace mmapv1
