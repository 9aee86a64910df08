// journal_probe: the server's journal without the server, for a trace of what it asks of the
// operating system, and for times.
//
// It uses the server's own Journal on LogFile, its section writer and its schedule, in the loop of
// the journal thread: wait until a commit is due, append one section, notify the waiters. One
// client makes COMMITS durable writes, each after the last was acknowledged. At the end the journal
// is read back as a recovery would; it stays as a killed server leaves it.

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "journal/commit_schedule.h"
#include "journal/counters.h"
#include "journal/file_reader.h"
#include "journal/journal.h"
#include "journal/section.h"
#include "options/option.h"

namespace {

constexpr uint64_t kMB = uint64_t{1} << 20;

constexpr const char* kUsage =
    "usage: journal_probe DIRECTORY COMMITS [OPTION...]\n"
    "  --preallocated     write into files that were made in advance (else the file grows)\n"
    "  --interval MS      the server's journalCommitInterval, 2..300 (2)\n"
    "  --bytes N          payload of a commit, 1..1000000 (100)\n"
    "  --limit MB         length of a journal file, 1..1024 (1)\n";

struct Request {
    std::string directory;
    int commits = 0;
    bool preallocated = false;
    int64_t interval_ms = 2;
    uint32_t bytes = 100;
    uint64_t limit_mb = 1;
};

// One client and the journal thread.
class Loop : public journal::CommitDemand {
  public:
    Loop(journal::Journal& journal, os::Clock& clock, const Request& request)
        : journal_(journal),
          clock_(clock),
          payload_(request.bytes, 'x'),
          schedule_(clock, static_cast<const journal::CommitDemand&>(*this)) {
        schedule_.set_interval(request.interval_ms * 1000);
        thread_ = std::thread([this] { run(); });
    }
    ~Loop() override {
        schedule_.stop();
        thread_.join();
    }

    bool has_written() const override {
        const std::lock_guard lock(mutex_);
        return wanted_ > done_;
    }
    bool much_uncommitted() const override { return false; }

    struct Commit {
        size_t bytes = 0;  // of the section as it was written
        int64_t append_us = 0;
        int64_t acknowledged_us = 0;  // since it was asked for
    };
    Commit commit() {
        const int64_t start = clock_.monotonic_us();
        std::unique_lock lock(mutex_);
        ++wanted_;
        schedule_.note_waiter();
        done_condition_.wait(lock, [this] { return done_ == wanted_; });
        Commit result = last_;
        result.acknowledged_us = clock_.monotonic_us() - start;
        return result;
    }

  private:
    void run() {
        base::log::set_context("journal");
        while (!schedule_.stopping()) {
            schedule_.wait();
            if (has_written()) write_section();
        }
    }
    void write_section() {
        journal_.ensure_open();
        ops_.clear();
        ops_.basic_write("test", 0, 8192, payload_.data(), static_cast<uint32_t>(payload_.size()));
        const auto section =
            writer_.write(ops_, journal_.format(), journal_.next_sequence(), journal_.file_id());
        const int64_t start = clock_.monotonic_us();
        journal_.append(section, ops_.ops().size());
        const int64_t took = clock_.monotonic_us() - start;
        journal_.after_append();
        {
            const std::lock_guard lock(mutex_);
            last_ = {section.size(), took, 0};
            done_ = wanted_;
            schedule_.note_commit(1);
        }
        done_condition_.notify_one();
    }

    journal::Journal& journal_;
    os::Clock& clock_;
    const std::string payload_;
    journal::OpBuffer ops_;
    journal::SectionWriter writer_;
    mutable std::mutex mutex_;
    std::condition_variable done_condition_;
    int wanted_ = 0, done_ = 0;  // guarded by mutex_
    Commit last_;                // guarded by mutex_
    journal::CommitSchedule schedule_;
    std::thread thread_;
};

void say(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

int64_t number(std::string_view name, std::string_view text, int64_t low, int64_t high) {
    int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < low || value > high)
        base::fail(base::kBadValue, "{} must be a whole number from {} to {}, not \"{}\"", name,
                   low, high, text);
    return value;
}

// The probe has no other options of the server.
options::Option* option_of_a_patch(std::string_view name) {
    options::Option* const option = options::find(name);
    const bool added =
        option != nullptr && option->description().group == options::Group::added_to_journal;
    return added ? option : nullptr;
}

Request read_request(const std::vector<std::string>& words) {
    Request request;
    std::vector<std::string> places;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const auto value = [&]() -> const std::string& {
            if (i + 1 == words.size()) base::fail(base::kBadValue, "{} needs a value", word);
            return words[++i];
        };
        if (!word.starts_with("--")) {
            places.push_back(word);
        } else if (word == "--preallocated") {
            request.preallocated = true;
        } else if (word == "--interval") {
            request.interval_ms = number(word, value(), 2, 300);
        } else if (word == "--bytes") {
            request.bytes = static_cast<uint32_t>(number(word, value(), 1, 1'000'000));
        } else if (word == "--limit") {
            request.limit_mb = static_cast<uint64_t>(number(word, value(), 1, 1024));
        } else if (options::Option* option = option_of_a_patch(word.substr(2))) {
            option->set_text(option->type() == options::Type::flag ? "true" : value());
        } else {
            base::fail(base::kBadValue, "unknown option {}", word);
        }
    }
    if (places.size() != 2) base::fail(base::kBadValue, "give DIRECTORY and COMMITS");
    request.directory = places[0];
    request.commits = static_cast<int>(number("COMMITS", places[1], 1, 1'000'000));
    return request;
}

// With one full file from "an earlier run" the journal makes the others and uses them.
void preallocate_first(os::FileSystem& files, const std::string& journal, uint64_t bytes) {
    const auto file = files.open(os::join(journal, "prealloc.0"),
                                 {.access = os::Access::read_write, .create = true});
    const std::vector<uint8_t> zeros(kMB);
    for (uint64_t at = 0; at < bytes; at += kMB)
        file->write_at(at, zeros);
    file->sync();
}

int sections_in(os::FileSystem& files, const std::string& journal) {
    const auto found = journal::find_journal_files(files, journal);
    int sections = 0;
    for (const journal::FoundFile& file : found) {
        journal::FileReader reader(files, file.path, &file == &found.back());
        journal::FileReader::Section section;
        while (reader.next(section))
            ++sections;
    }
    return sections;
}

std::string spread(const char* what, std::vector<int64_t> us) {
    std::sort(us.begin(), us.end());
    return fmt::format("{}: median {:.3f} ms ({:.3f}..{:.3f})", what,
                       static_cast<double>(us[us.size() / 2]) / 1e3,
                       static_cast<double>(us.front()) / 1e3, static_cast<double>(us.back()) / 1e3);
}

int run(const Request& request) {
    os::FileSystem& files = os::real_file_system();
    os::Clock& clock = os::system_clock();
    const std::string directory = os::join(request.directory, "journal");
    files.create_directory(request.directory);
    if (files.exists(directory))
        base::fail(base::kBadValue, "{} exists; give a directory without one", directory);

    journal::Counters counters;
    journal::Settings settings;
    settings.directory = directory;
    settings.limit_bytes = request.limit_mb * kMB;
    settings.preallocation_allowed = false;
    journal::Journal journal(files, clock, counters, settings);
    journal.create_directory();
    if (request.preallocated) preallocate_first(files, directory, settings.limit_bytes);
    journal.allow_removal();
    journal.prepare();
    std::vector<int64_t> appends, acknowledged;
    {
        Loop loop(journal, clock, request);
        for (int i = 1; i <= request.commits; ++i) {
            const Loop::Commit commit = loop.commit();
            say(fmt::format("commit {}: {} bytes, append {:.3f} ms, acknowledged after {:.3f} ms",
                            i, commit.bytes, static_cast<double>(commit.append_us) / 1e3,
                            static_cast<double>(commit.acknowledged_us) / 1e3));
            appends.push_back(commit.append_us);
            acknowledged.push_back(commit.acknowledged_us);
        }
    }
    say(spread("append", appends));
    say(spread("acknowledged", acknowledged));
    for (const std::string& name : files.list(directory))
        say(fmt::format("{}: {} bytes", name, files.file_length(os::join(directory, name))));
    const int sections = sections_in(files, directory);
    say(fmt::format("read back: {} sections", sections));
    return sections == request.commits ? base::kExitClean : base::kExitError;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Request request;
        try {
            request = read_request({argv + 1, argv + argc});
        } catch (const base::Error& e) {
            std::fprintf(stderr, "journal_probe: %s\n%s", e.what(), kUsage);
            return base::kExitBadOptions;
        }
        return run(request);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "journal_probe: %s\n", e.what());
        return base::kExitError;
    }
}
