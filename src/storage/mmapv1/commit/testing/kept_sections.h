// storage/mmapv1/commit/testing/kept_sections.h - a writer that defers: it keeps the sections, and
// stores them in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "base/error.h"
#include "journal/op_stream.h"
#include "storage/mmapv1/commit/data_file_writer.h"

namespace mmapv1 {

class KeptSections final : public DataFileWriter {
  public:
    using DataFileWriter::DataFileWriter;
    static std::unique_ptr<DataFileWriter> make(const Parts& parts) {
        return std::make_unique<KeptSections>(parts);
    }

    void write(std::span<const uint8_t> ops, std::span<const WriteIntent> intents,
               uint64_t sequence) override {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({{ops.begin(), ops.end()}, {intents.begin(), intents.end()}, sequence});
        note_private(ops.size());
    }
    bool defers() const override { return true; }
    void store_all() override {
        const std::lock_guard lock(mutex_);
        for (std::vector<Section>* sections : {&leaving_, &waiting_})
            store_first(*sections, sections->size());
        copied_ = 0;
    }
    void append_waiting(std::vector<WriteIntent>& ranges) override {
        const std::lock_guard lock(mutex_);
        for (const std::vector<Section>* sections : {&leaving_, &waiting_}) {
            for (const Section& section : *sections)
                ranges.insert(ranges.end(), section.intents.begin(), section.intents.end());
        }
    }
    uint64_t private_bytes_max() const override { return most; }

    uint64_t most = UINT64_MAX;
    int batches = 0;

  protected:
    static constexpr size_t kBatchSections = 3;

    bool begin_batches() override {
        const std::lock_guard lock(mutex_);
        std::swap(leaving_, waiting_);
        return !leaving_.empty();
    }
    bool copy_some() override {
        const std::lock_guard lock(mutex_);
        if (copied_ < leaving_.size()) ++copied_;
        return copied_ < std::min(kBatchSections, leaving_.size());
    }
    bool store_batch() override {
        const std::lock_guard lock(mutex_);
        ++batches;
        store_first(leaving_, copied_);
        copied_ = 0;
        return !leaving_.empty();
    }

  private:
    struct Section {
        std::vector<uint8_t> ops;
        std::vector<WriteIntent> intents;
        uint64_t sequence;
    };

    void store_first(std::vector<Section>& sections, size_t count) {
        const std::shared_lock open(parts_.files.mutex());
        for (size_t i = 0; i < count; ++i) {
            journal::Op op;
            for (journal::OpReader ops(sections[i].ops); ops.next(op);) {
                if (op.kind != journal::Op::Kind::basic_write) continue;
                DurableFile* const file = parts_.files.find_locked(op.prefix, op.file_number);
                if (file == nullptr) base::fatal(0, "a section for a file that is not open");
                store(*file, op.offset, op.bytes);
            }
            parts_.journal.note_applied(sections[i].sequence);
        }
        sections.erase(sections.begin(), sections.begin() + static_cast<std::ptrdiff_t>(count));
    }

    std::mutex mutex_;
    // Guarded by mutex_:
    std::vector<Section> waiting_;
    std::vector<Section> leaving_;  // what store_beside_commits() has begun with
    size_t copied_ = 0;             // of them
};

}  // namespace mmapv1
