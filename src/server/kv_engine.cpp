#include "server/kv_engine.h"

#include <algorithm>
#include <optional>

#include "base/damage.h"
#include "base/error.h"
#include "base/loaded_part.h"
#include "bson/builder.h"
#include "journal/commit_schedule.h"
#include "options/journal.h"
#include "options/storage.h"
#include "os/confined_file_system.h"
#include "storage/kv/engine.h"
#include "storage/kv/host.h"
#include "storage/mmapv1/engine.h"
#include "storage/mmapv1/mapping/data_file_name.h"
#include "storage/mmapv1/mapping/dbpath_lock.h"

namespace server {

namespace {

// The format that storage.bson names beside the engine's name, which other programs write too.
constexpr std::string_view kFormat = "mongod-dur 1";

// The shared object of an engine.
std::string library_file(std::string name) {
    std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return fmt::format("engine_{}.so", name);
}

const kv::MapLibrary& load_library(const std::string& name) {
    const std::string what = "storage engine " + name;
    return *static_cast<const kv::MapLibrary*>(
        base::load_part({what, library_file(name), kv::kMapLibrarySymbol, "docs/engines.md"},
                        base::kInvalidOptions));
}

// mongod.lock, held as long as this lives, and what tells whose files these are.
class Dbpath {
  public:
    Dbpath(const std::string& path, const std::string& engine)
        : path_(path),
          engine_(engine),
          files_(os::confined_file_system(path)),
          lock_(*files_, path) {
        const std::optional<bson::Object> metadata = mmapv1::read_storage_metadata(*files_, path_);
        if (metadata)
            check_metadata(metadata->doc());
        else
            refuse_data_files();
        is_known_ = metadata.has_value();
        lock_.mark_running();
        files_->remove_all(scratch());
    }

    // Whether it is this engine's.
    bool is_known() const { return is_known_; }
    // The engine's tables are on the device: from now on the directory is this engine's.
    void claim() {
        const bson::Object metadata = bson::make(
            "storage",
            bson::make("engine", engine_, "options", bson::make("format", std::string(kFormat))));
        const std::string file = os::join(path_, mmapv1::kMetadataFile);
        const std::string unfinished = file + ".new";
        {
            const auto out = files_->open(
                unfinished,
                {.access = os::Access::write, .create = true, .truncate = true, .mode = 0644});
            out->write(metadata.bytes());
            out->sync();
        }
        files_->rename(unfinished, file);
        files_->sync_directory(path_);
    }

    std::string scratch() const { return os::join(path_, mmapv1::kScratchDirectory); }
    std::string map() const { return os::join(path_, engine_); }
    void clear() { lock_.clear(); }

  private:
    void check_metadata(bson::Doc metadata) const {
        const std::string file = os::join(path_, mmapv1::kMetadataFile);
        const bson::Element named = metadata.at_path("storage.engine");
        if (!named.is_string() || named.as_string() != engine_)
            base::fail(base::kInvalidOptions,
                       "{} says that the data files were written by storage engine '{}', not by "
                       "{}: start with that --storageEngine, or name another --dbpath",
                       file, named.is_string() ? named.as_string() : "?", engine_);
        const bson::Element format = metadata.at_path("storage.options.format");
        if (!format.is_string() || format.as_string() != kFormat)
            base::fail(base::kInvalidOptions,
                       "{} says that the data files were written by storage engine '{}' of another "
                       "program, or of another version of this one: this one cannot read them",
                       file, engine_);
        if (!files_->is_directory(map()) || files_->list(map()).empty())
            base::fail(base::kInvalidOptions,
                       "{} says that there are data files of storage engine {}, and there is no "
                       "directory {}, or nothing in it: is it to be mounted?",
                       file, engine_, map());
    }

    void refuse_data_files() const {
        for (const std::string& name : files_->list(path_)) {
            if (!is_of_mmapv1(name)) continue;
            base::fail(base::kInvalidOptions,
                       "{} holds data files of storage engine mmapv1 ({}): start with "
                       "--storageEngine mmapv1, or name another --dbpath",
                       path_, name);
        }
    }

    bool is_of_mmapv1(const std::string& name) const {
        if (mmapv1::parse_data_file_name(name)) return true;
        const std::string path = os::join(path_, name);
        if (files_->is_link(path) || !files_->is_directory(path)) return false;
        return std::ranges::any_of(files_->list(path), [&](const std::string& inner) {
            return mmapv1::parse_data_file_name(os::join(name, inner)).has_value();
        });
    }

    const std::string path_;
    const std::string engine_;
    const std::unique_ptr<os::FileSystem> files_;
    mmapv1::DbpathLock lock_;
    bool is_known_ = false;
};

}  // namespace

std::unique_ptr<storage::Engine> open_ordered_engine(const std::string& name,
                                                     const OrderedSettings& settings) {
    const kv::MapLibrary& library = load_library(name);
    base::set_damage_advice(
        "; bring back a backup, or copy what can be read (docs/engines.md, Damaged files)");
    const auto dbpath = std::make_shared<Dbpath>(options::dbpath.get(), name);
    kv::MapSettings map;
    map.directory = dbpath->map();
    map.log = options::journal_enabled();
    map.cache_bytes = settings.cache_bytes;
    map.memory_bytes = settings.memory_bytes;
    map.config = settings.config;
    map.host = &kv::base_host();
    std::unique_ptr<kv::Map> opened = library.open(map);

    kv::EngineOptions engine;
    engine.name = name;
    engine.scratch_directory = dbpath->scratch();
    engine.durable.journaling = options::journal_enabled();
    engine.durable.commit_interval = journal::configured_commit_interval();
    engine.durable.sync_delay_seconds = options::sync_delay.get();
    if (dbpath->is_known())
        engine.found = options::repair.get() ? kv::Expected::parts : kv::Expected::everything;
    engine.stopped = [dbpath] { dbpath->clear(); };
    auto made = std::make_unique<kv::Engine>(std::move(opened), std::move(engine));
    if (!dbpath->is_known()) {
        made->durability().flush_all(true);
        dbpath->claim();
    }
    return made;
}

}  // namespace server
