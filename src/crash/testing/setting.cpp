#include "crash/testing/setting.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crash/testing/random.h"
#include "journal/commit_schedule.h"
#include "options/journal.h"
#include "options/megabyte.h"
#include "options/option.h"
#include "options/testing/reset.h"
#include "storage/mmapv1/testing/small_engine.h"

namespace crash {

namespace {

// The megabyte of options is so small that a life writes 16 of them, the least that some limit can
// be.
constexpr uint64_t kMegabyte = 16 << 10;
// A commit of these histories has 8 to 40 KB.
constexpr uint64_t kJournalFileBytes[] = {24 << 10, 40 << 10, 64 << 10, 160 << 10};

// The values of an option that are not its default and are possible on this system.
std::vector<std::string> other_values(options::Option& option) {
    const options::Description& description = option.description();
    const std::string usual = options::value_text(description.default_value);
    std::vector<std::string> values(description.choices.begin(), description.choices.end());
    if (option.type() == options::Type::flag) values = {"true", "false"};
    if (values.empty() && description.range) {
        const auto low = static_cast<int64_t>(description.range->low);
        const auto high = static_cast<int64_t>(description.range->high);
        // Megabytes are too large for a disk in memory.
        const int64_t most = std::string_view(description.unit) == "MB" ? low + 1 : high;
        for (const int64_t value : {low, low + 1, most, low + (most - low) / 1000})
            values.push_back(std::to_string(value));
    }
    std::erase_if(values, [&](const std::string& value) {
        if (value == usual) return true;
        try {
            option.set_text(value);
        } catch (const base::Error&) {
            return true;
        }
        options::reset(option);
        return false;
    });
    return values;
}

struct Added {
    options::Option* option;
    std::vector<std::string> values;
};

// Returns the options that patches add. The commit interval is the base's; a patch lets it be 0.
const std::vector<Added>& added_options() {
    static const std::vector<Added> found = [] {
        std::vector<Added> added;
        for (options::Option* option : options::all()) {
            const options::Description& description = option->description();
            const bool changed = option == &options::journal_commit_interval && description.range &&
                                 description.range->low == 0;
            if (description.group != options::Group::added_to_journal && !changed) continue;
            std::vector<std::string> values = other_values(*option);
            if (!values.empty()) added.push_back({option, std::move(values)});
        }
        return added;
    }();
    return found;
}

}  // namespace

size_t option_choices() {
    const size_t n = added_options().size();
    return 1 + n + n * (n - 1) / 2;
}

size_t option_choice(uint64_t history, uint64_t life) {
    return (history * kLivesAtLeast + life) % option_choices();
}

Setting::Options make_options(uint64_t seed, size_t choice) {
    const auto& added = added_options();
    std::vector<std::vector<size_t>> choices{{}};
    for (size_t i = 0; i < added.size(); ++i)
        choices.push_back({i});
    for (size_t i = 0; i < added.size(); ++i)
        for (size_t j = i + 1; j < added.size(); ++j)
            choices.push_back({i, j});
    Random random(mixed(seed, choice + 3));
    Setting::Options options;
    for (const size_t i : choices.at(choice))
        options.emplace_back(added[i].option->description().name, random.pick(added[i].values));
    return options;
}

Setting::Options some_options(uint64_t seed) {
    Random random(seed);
    Setting::Options options;
    for (const Added& added : added_options())
        if (random.chance(50))
            options.emplace_back(added.option->description().name, random.pick(added.values));
    return options;
}

Setting make_setting(uint64_t seed, uint64_t turn) {
    Random random(mixed(seed, 1));
    Setting setting;
    setting.addresses = static_cast<unsigned>(seed);
    setting.directory_per_db = random.chance(30);
    switch (random.below(4)) {
        case 0:
            setting.nopreallocj = true;
            break;
        case 1:
            setting.slow_growth = true;
            break;
        case 2:
            setting.spare_files = true;
            setting.long_spares = random.chance(50);
            break;
        default:
            break;  // the speed test says no
    }
    setting.own_device = random.chance(20);
    setting.old_blocks = random.chance(50);
    setting.sector_bytes = random.chance(60) ? 512 : 4096;
    setting.journal_file_bytes = random.pick(kJournalFileBytes);
    setting.megabyte = kMegabyte;
    // Alternates so that each choice of options is met, sooner or later.
    setting.calls_fail = turn % 3 == 1;
    setting.journal_changes = turn % 5 == 2;
    if (random.chance(50)) setting.failed_pages = os::SimFileSystem::FailedPages::count_as_clean;
    return setting;
}

std::string Setting::text() const {
    std::string text = fmt::format("sectors of {}, journal files of {} KB", sector_bytes,
                                   journal_file_bytes >> 10);
    if (directory_per_db) text += ", directoryperdb";
    if (nopreallocj) text += ", nopreallocj";
    if (slow_growth) text += ", preallocation is faster";
    if (spare_files) text += long_spares ? ", long spare journal files" : ", spare journal files";
    if (own_device) text += ", journal on its own device";
    if (old_blocks) text += ", old blocks show";
    if (calls_fail)
        text += failed_pages == os::SimFileSystem::FailedPages::stay_dirty
                    ? ", calls fail"
                    : ", calls fail and pages count as clean";
    if (journal_changes) text += ", with and without a journal";
    for (const auto& [name, value] : options)
        text += fmt::format(", {}={}", name, value);
    return text;
}

mmapv1::EngineOptions Setting::engine_options(bool journal) const {
    mmapv1::EngineOptions engine = mmapv1::small_engine_options(kDbpath);
    engine.durable.journal = journal;
    engine.files.directory_per_db = directory_per_db;
    engine.durable.no_prealloc_journal = nopreallocj;
    engine.durable.journal_file_bytes = journal_file_bytes;
    engine.durable.commit_interval = journal::configured_commit_interval();
    return engine;
}

void Setting::apply_options() const {
    options::journal_megabyte = megabyte;
    for (const Added& added : added_options())
        options::reset(*added.option);
    for (const auto& [name, value] : options)
        options::find(name)->set_text(value);
}

std::unique_ptr<os::SimFileSystem> Setting::make_disk() const {
    auto disk = std::make_unique<os::SimFileSystem>(addresses);
    disk->keep_no_events();
    disk->stores_are_reported();
    if (old_blocks) disk->show_old_blocks();
    disk->after_failed_sync(failed_pages);
    for (const auto& [call, path_part] : lies)
        disk->ignore(call, path_part);
    if (own_device) disk->set_device(os::join(kDbpath, "journal"), kJournalDevice);
    disk->create_directory(kDbpath);
    if (spare_files) {
        const std::string journal = os::join(kDbpath, "journal");
        disk->create_directory(journal);
        for (int i = 0; i < 3; ++i) {
            const auto file = disk->open(os::join(journal, fmt::format("prealloc.{}", i)),
                                         {.access = os::Access::read_write, .create = true});
            file->allocate(journal_file_bytes * (long_spares ? 2 : 1));
            file->sync();
        }
        disk->sync_directory(journal);
        disk->sync_directory(kDbpath);
    }
    disk->sync_directory("/");
    return disk;
}

}  // namespace crash
