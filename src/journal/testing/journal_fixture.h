// journal/testing/journal_fixture.h - a journal directory on the simulated disk, commits into it,
// and what is in it afterwards.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing/fatal_handler.h"
#include "journal/file_reader.h"
#include "journal/journal.h"
#include "journal/section.h"
#include "os/testing/sim_clock.h"
#include "os/testing/sim_file_system.h"

namespace journal {

// Instead of the end of the process.
struct Fatal {
    int id;
};

class JournalTest : public testing::Test {
  protected:
    using Call = os::SimFileSystem::Call;

    JournalTest() {
        files.create_directory("/db");
        base::set_fatal_handler([](int id, std::string_view) { throw Fatal{id}; });
    }
    ~JournalTest() override { base::set_fatal_handler(nullptr); }

    std::unique_ptr<Journal> make(uint64_t limit = 3 * 8192, bool preallocation = false) {
        auto journal = std::make_unique<Journal>(
            files, clock, counters,
            Settings{"/db/journal", limit, preallocation, /*check_space=*/false});
        journal->create_directory();
        journal->allow_removal();
        return journal;
    }
    // A small write in the journal, and not in the data files.
    uint64_t append(Journal& journal) {
        journal.ensure_open();
        ops.clear();
        ops.basic_write("test", 0, 0, "abcd", 4);
        const uint64_t sequence = journal.next_sequence();
        journal.append(writer.write(ops, journal.format(), sequence, journal.file_id()),
                       ops.ops().size());
        return sequence;
    }
    // One commit of it.
    uint64_t commit(Journal& journal) {
        const uint64_t sequence = append(journal);
        journal.after_append();
        journal.note_applied(sequence);
        return sequence;
    }
    void flush(Journal& journal) { journal.flush_finished(journal.flush_started()); }
    std::vector<std::string> names() { return files.list("/db/journal"); }
    std::vector<uint64_t> sequences_in(const std::string& path, bool is_last = true) {
        FileReader reader(files, path, is_last);
        FileReader::Section section;
        std::vector<uint64_t> result;
        while (reader.next(section))
            result.push_back(section.header.sequence);
        return result;
    }
    // The removals since the last clear_events(), and where they had become durable.
    std::vector<std::string> removals() {
        std::vector<std::string> result;
        for (const auto& event : files.events()) {
            if (event.call == Call::remove && files.exists(event.path)) continue;  // that failed
            if (event.call == Call::remove) result.push_back(os::base_name(event.path));
            if (event.call == Call::sync_directory && !result.empty() &&
                result.back() != "for good")
                result.emplace_back("for good");
        }
        return result;
    }
    uint64_t count(Call call, const std::string& path_end) {
        uint64_t n = 0;
        for (const auto& event : files.events())
            n += event.call == call && event.path.ends_with(path_end);
        return n;
    }

    os::SimFileSystem files;
    os::SimClock clock;
    Counters counters;
    OpBuffer ops;
    SectionWriter writer;
};

}  // namespace journal
