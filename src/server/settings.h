// server/settings.h - the server's own parameters (base/parameters.h): those that have no better
// home than the program that puts everything together.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "command/service.h"
#include "journal/options/registry.h"
#include "server/options.h"
#include "storage/durability.h"

namespace server {

class Settings {
  public:
    // Adds the parameters, sets those that --setParameter names. Throws OptionError.
    explicit Settings(const Config& config);
    ~Settings();
    Settings(const Settings&) = delete;
    Settings& operator=(const Settings&) = delete;

    // From now on, and with their present values, these follow the parameters. Null: no longer.
    void follow(storage::Durability* durability);
    void follow(command::Service* service);

    // Fixed after construction.
    const std::string& reported_version() const { return reported_version_; }
    int announced_max_wire_version() const { return announced_max_wire_version_; }
    bool test_commands() const { return test_commands_ != 0; }

    bool ttl_monitor_enabled() const { return ttl_monitor_enabled_.load(); }
    ::journal::CommitInterval commit_interval() const {
        const int64_t us = commit_interval_us_.load();
        return us == kNotSet ? ::journal::CommitInterval() : us;
    }
    double sync_delay_seconds() const { return sync_delay_seconds_.load(); }

  private:
    void add_logging();
    void add_fixed();
    void add_behaviour();
    void add_durability();
    void add_journal_option(const ::journal::options::Descriptor& d);

    const bool journal_;
    std::string reported_version_;
    int announced_max_wire_version_ = 9;
    int test_commands_ = 0;
    std::atomic<bool> ttl_monitor_enabled_{true};
    std::atomic<bool> no_table_scan_;
    static constexpr int64_t kNotSet = -1;
    std::atomic<int64_t> commit_interval_us_;
    std::atomic<double> sync_delay_seconds_;

    std::mutex mutex_;
    storage::Durability* durability_ = nullptr;  // guarded by mutex_
    command::Service* service_ = nullptr;        // guarded by mutex_
};

}  // namespace server
