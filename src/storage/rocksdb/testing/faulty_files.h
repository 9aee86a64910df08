// storage/rocksdb/testing/faulty_files.h - the library's file system with faults: a disk that is
// full, a sync that fails, and power cuts, which leave of a file what was synced.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace rocks {

class FaultyFiles final : public rocksdb::FileSystemWrapper {
  public:
    FaultyFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
    static const char* kClassName() { return "FaultyFiles"; }
    const char* Name() const override { return kClassName(); }

    std::atomic<bool> is_full{false};
    std::atomic<bool> has_new_files{true};  // or has room for none
    std::atomic<bool> syncs_fail{false};
    std::atomic<uint64_t> free_bytes{uint64_t{1} << 40};

    // Copies the files that a power cut would leave of a directory without folders into another
    // one. No sync and no change of the directory comes between.
    void copy_synced(const std::string& from, const std::string& to) {
        std::filesystem::create_directories(to);
        const std::lock_guard lock(mutex_);
        for (const auto& entry : std::filesystem::directory_iterator(from)) {
            const std::string copy = to + "/" + entry.path().filename().string();
            std::filesystem::copy_file(entry.path(), copy);
            const auto file = files_.find(entry.path().string());
            if (file != files_.end()) std::filesystem::resize_file(copy, file->second->synced);
        }
    }

    rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* out,
                                      rocksdb::IODebugContext* debug) override {
        if (!has_new_files) return no_space();
        return opened(target()->NewWritableFile(name, options, out, debug), name, out);
    }
    rocksdb::IOStatus ReopenWritableFile(const std::string& name,
                                         const rocksdb::FileOptions& options,
                                         std::unique_ptr<rocksdb::FSWritableFile>* out,
                                         rocksdb::IODebugContext* debug) override {
        return opened(target()->ReopenWritableFile(name, options, out, debug), name, out);
    }
    rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                                 const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* debug) override {
        const std::lock_guard lock(mutex_);
        const rocksdb::IOStatus status = target()->RenameFile(from, to, options, debug);
        if (auto node = files_.extract(from); status.ok() && !node.empty()) {
            files_.erase(to);
            node.key() = to;
            files_.insert(std::move(node));
        }
        return status;
    }
    rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* debug) override {
        const std::lock_guard lock(mutex_);
        return target()->DeleteFile(name, options, debug);
    }
    rocksdb::IOStatus GetFreeSpace(const std::string&, const rocksdb::IOOptions&, uint64_t* bytes,
                                   rocksdb::IODebugContext*) override {
        *bytes = free_bytes;
        return rocksdb::IOStatus::OK();
    }

  private:
    struct State {
        std::atomic<uint64_t> written{0}, synced{0};
    };

    class File final : public rocksdb::FSWritableFileOwnerWrapper {
      public:
        File(std::unique_ptr<rocksdb::FSWritableFile> file, FaultyFiles& files,
             std::shared_ptr<State> state)
            : FSWritableFileOwnerWrapper(std::move(file)),
              files_(files),
              state_(std::move(state)) {}

        using FSWritableFileOwnerWrapper::Append;
        rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                                 rocksdb::IODebugContext* debug) override {
            if (files_.is_full) return no_space();
            const auto status = FSWritableFileOwnerWrapper::Append(data, options, debug);
            if (status.ok()) state_->written += data.size();
            return status;
        }
        rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                                 const rocksdb::DataVerificationInfo&,
                                 rocksdb::IODebugContext* debug) override {
            return Append(data, options, debug);
        }
        rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
            return synced(FSWritableFileOwnerWrapper::Sync(options, debug));
        }
        rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                                rocksdb::IODebugContext* debug) override {
            return synced(FSWritableFileOwnerWrapper::Fsync(options, debug));
        }

      private:
        rocksdb::IOStatus synced(rocksdb::IOStatus status) {
            if (files_.syncs_fail) return rocksdb::IOStatus::IOError("the device has failed");
            const std::lock_guard lock(files_.mutex_);
            if (status.ok()) state_->synced = state_->written.load();
            return status;
        }

        FaultyFiles& files_;
        const std::shared_ptr<State> state_;
    };

    static rocksdb::IOStatus no_space() { return rocksdb::IOStatus::NoSpace("the disk is full"); }

    rocksdb::IOStatus opened(rocksdb::IOStatus status, const std::string& name,
                             std::unique_ptr<rocksdb::FSWritableFile>* out) {
        if (!status.ok()) return status;
        auto state = std::make_shared<State>();
        const std::lock_guard lock(mutex_);
        files_[name] = state;
        *out = std::make_unique<File>(std::move(*out), *this, std::move(state));
        return status;
    }

    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<State>> files_;  // guarded by mutex_
};

}  // namespace rocks
