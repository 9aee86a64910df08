// catalog/testing/recording_log.h - a log of changes that keeps its entries in memory.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "bson/json.h"
#include "catalog/change_log.h"
#include "catalog/names.h"
#include "storage/write_unit.h"

namespace catalog {

class RecordingLog final : public ChangeLog {
  public:
    struct Entry {
        enum class Kind : char { insert, remove, update, index, command };
        Kind kind;
        std::string ns;  // of a command: its database
        bson::Object o;
        bson::Object which;  // of an update
        // insert test.c { _id: 1.0 }
        std::string text() const {
            constexpr const char* kNames[] = {"insert", "remove", "update", "index", "command"};
            const std::string named =
                which.empty() ? std::string() : bson::to_text(which.doc()) + " -> ";
            return fmt::format("{} {} {}{}", kNames[static_cast<size_t>(kind)], ns, named,
                               bson::to_text(o.doc()));
        }
    };

    // The same collections as the log of a replica set.
    bool covers(std::string_view ns) const override {
        const auto [db, collection] = split(ns);
        return db != "local" && collection != "system.profile" && !is_catalogue(collection);
    }
    bool keeps(std::string_view) const override { return false; }
    int64_t prepare(int64_t entry_bytes) override {
        EXPECT_TRUE(storage::WriteUnit::none_has_begun());
        prepared_bytes_ = entry_bytes;
        prepared_ = true;
        return entry_bytes;
    }
    void inserted(std::string_view ns, bson::Doc doc) override {
        add({Entry::Kind::insert, std::string(ns), bson::Object(doc), {}});
    }
    void removed(std::string_view ns, bson::Doc which) override {
        add({Entry::Kind::remove, std::string(ns), bson::Object(which), {}});
    }
    void updated(std::string_view ns, bson::Doc which, bson::Doc form) override {
        add({Entry::Kind::update, std::string(ns), bson::Object(form), bson::Object(which)});
    }
    void index_built(std::string_view ns, bson::Doc spec) override {
        add({Entry::Kind::index, std::string(ns), bson::Object(spec), {}});
    }
    void command(std::string_view db, bson::Doc command, const bson::Doc*) override {
        add({Entry::Kind::command, std::string(db), bson::Object(command), {}});
    }
    void take_command_back() override {
        ASSERT_FALSE(entries_.empty());
        EXPECT_EQ(entries_.back().kind, Entry::Kind::command);
        entries_.pop_back();
    }

    const std::vector<Entry>& entries() const { return entries_; }
    // Returns the entries since the last call.
    std::vector<std::string> take_texts() {
        std::vector<std::string> texts;
        for (; taken_ < entries_.size(); ++taken_)
            texts.push_back(entries_[taken_].text());
        return texts;
    }

  private:
    // A document is a part of what was prepared for; the names of a command are few.
    static constexpr int64_t kNamesBytes = 600;
    void add(Entry entry) {
        EXPECT_TRUE(prepared_) << entry.text();
        EXPECT_LE(entry.o.size() + (entry.which.empty() ? 0 : entry.which.size()),
                  prepared_bytes_ + kNamesBytes)
            << entry.text();
        prepared_ = false;
        entries_.push_back(std::move(entry));
    }

    bool prepared_ = false;
    int64_t prepared_bytes_ = 0;
    std::vector<Entry> entries_;
    size_t taken_ = 0;
};

}  // namespace catalog
