// storage/contract/memory_engine.h - a second engine, for tests only: everything in ordered maps in
// memory, nothing on disk.
//
// It is the witness that the interface asks for no memory-mapped files. It differs from mmapv1
// where the engines to come will: records never move and their ids are no places; there are no
// extents, no padding, no files and no catalogue collections (system.namespaces, system.indexes);
// a commit is done at once, on the thread that asks for it. Reopening copies everything, so that
// whatever was kept from before points to freed memory.
#pragma once

#include <algorithm>
#include <limits>
#include <mutex>
#include <shared_mutex>

#include "storage/contract/memory_durability.h"
#include "storage/contract/memory_index.h"
#include "storage/contract/memory_records.h"
#include "storage/engine.h"
#include "storage/renamed.h"
#include "storage/validate_fields.h"

namespace storage::contract {

class MemoryCollection : public CollectionStore {
  public:
    MemoryCollection(std::string_view ns, const CollectionOptions& options)
        : ns_(ns), made_(options), options_(options.options), records_(options) {}
    // Copies the state that a reopened database finds.
    MemoryCollection(const MemoryCollection& other)
        : ns_(other.ns_), made_(other.made_), options_(other.options_), records_(other.records_) {
        for (const auto& part : other.parts_)
            parts_.push_back(std::make_unique<Part>(*part));
    }
    MemoryCollection& operator=(const MemoryCollection&) = delete;

    const std::string& ns() const override { return ns_; }
    MemoryRecordStore& records() override { return records_; }
    bson::Object options() const override { return options_; }
    void set_user_flags(int32_t flags) override {
        records_.set_user_flags(flags);
        bson::Builder out;
        for (const bson::Element& field : options_)
            if (field.name() != "flags") out.append(field);
        options_ = out.append("flags", flags).object();
    }

    void replace_options(bson::Doc options) override { options_ = bson::Object(options); }

    int index_count() const override { return static_cast<int>(parts_.size()); }
    IndexEntry index(int slot) const override {
        Part& part = *parts_.at(static_cast<size_t>(slot));
        return {part.spec.doc(), name_of(part), part.multikey, part.ready, &part.index};
    }
    int begin_index(bson::Doc spec) override {
        parts_.push_back(std::make_unique<Part>(spec));
        return index_count() - 1;
    }
    int finish_index(int slot) override {
        int target = 0;
        while (parts_.at(static_cast<size_t>(target))->ready)
            ++target;
        std::swap(part(slot), part(target));
        part(target)->ready = true;
        return target;
    }
    void drop_index(int slot) override {
        parts_.erase(parts_.begin() + slot);
        records_.note_dropped_index();
    }
    void set_multikey(int slot) override {
        part(slot)->multikey = true;
        MemoryUndo::of_thread().note([this, slot] { part(slot)->multikey = false; });
    }
    void replace_index_spec(int slot, bson::Doc spec) override {
        part(slot)->spec = bson::Object(spec);
    }

    ValidateReport validate(const ValidateOptions& options, bson::Builder& metrics) override {
        ValidateReport report;
        const auto note = [&report](const std::string& text) { report.add_error(text); };
        if (made_.capped) {
            metrics.append("capped", true);
            if (made_.capped_max_documents > 0)
                metrics.append_number("max", made_.capped_max_documents);
            else
                metrics.append("max", std::numeric_limits<int64_t>::max());
        }
        metrics.append_number("nrecords", records_.count());
        if (options.scan_data) metrics.append_number(kInvalidDocuments, 0);
        for (const auto& part : parts_) {
            report.index_count += part->ready ? 1 : 0;
            report.keys_per_index.emplace_back(ns_ + ".$" + name_of(*part),
                                               part->index.validate(note));
            if (options.full && options.derive_keys && part->ready)
                check_keys(*part, options, note);
        }
        return report;
    }
    // There is no space to win; the records keep their ids.
    void compact(const bson::Object&, const CompactHooks& hooks, bson::Builder&) override {
        if (hooks.before_copy) hooks.before_copy();
        for (const auto& [id, doc] : records_.all())
            if (hooks.copied) hooks.copied({id, doc.doc()});
    }

    CollectionOptions creation_options() const override {
        CollectionOptions options = made_;
        options.options = options_;
        options.user_flags = records_.stats().user_flags;
        options.id_index = records_.stats().system_flags != 0;
        return options;
    }
    void salvage(const std::function<void(bson::Doc)>& use,
                 const std::function<void(const std::string&)>&) override {
        for (const auto& [id, doc] : records_.all())
            use(doc);
    }

    void rename(std::string_view to, bool stay_temp) {
        ns_ = to;
        options_ = renamed_options(options_, to, stay_temp);
        for (const auto& part : parts_)
            part->spec = renamed_spec(part->spec, to);
    }
    int64_t bytes() const {
        int64_t sum = records_.stats().storage_bytes;
        for (const auto& part : parts_)
            sum += part->index.storage_bytes();
        return sum;
    }

  private:
    struct Part {
        explicit Part(bson::Doc definition)
            : spec(definition), index(storage::descending_bits(definition["key"].as_doc())) {}
        bson::Object spec;
        bool multikey = false;
        bool ready = false;
        MemoryIndex index;
    };

    static std::string name_of(const Part& part) {
        return std::string(part.spec["name"].as_string());
    }
    std::unique_ptr<Part>& part(int slot) { return parts_.at(static_cast<size_t>(slot)); }

    void check_keys(const Part& part, const ValidateOptions& options,
                    const std::function<void(const std::string&)>& note) const {
        MemoryIndex wanted(part.index.entries().key_comp().descending);
        for (const auto& [id, doc] : records_.all())
            options.derive_keys(part.spec, doc,
                                [&, id = id](bson::Doc key) { wanted.insert(key, id, true); });
        // From 2^53 on numbers have no order (bson/compare.h): where an entry is depends on those
        // that were there before it.
        const auto& has = part.index.entries();
        if (!std::is_permutation(has.begin(), has.end(), wanted.entries().begin(),
                                 wanted.entries().end()))
            note(name_of(part) + " is not what the documents ask for");
    }

    std::string ns_;
    const CollectionOptions made_;
    bson::Object options_;  // as they are now
    MemoryRecordStore records_;
    std::vector<std::unique_ptr<Part>> parts_;  // by slot
};

class MemoryDatabase final : public DatabaseStore {
  public:
    explicit MemoryDatabase(std::string_view name) : name_(name) {}
    // Copies the state that a reopened database finds.
    MemoryDatabase(const MemoryDatabase& other) : name_(other.name_) {
        for (const auto& [ns, collection] : other.collections_)
            collections_.emplace(ns, std::make_unique<MemoryCollection>(*collection));
    }
    MemoryDatabase& operator=(const MemoryDatabase&) = delete;

    const std::string& name() const override { return name_; }
    std::vector<std::string> collections() const override {
        std::vector<std::string> names;
        for (const auto& [ns, collection] : collections_)
            names.push_back(ns);
        return names;
    }
    CollectionStore* collection(std::string_view ns) override {
        const auto found = collections_.find(ns);
        return found == collections_.end() ? nullptr : found->second.get();
    }
    CollectionStore& create_collection(std::string_view ns,
                                       const CollectionOptions& options) override {
        refuse_existing(ns);
        return *collections_.emplace(ns, std::make_unique<MemoryCollection>(ns, options))
                    .first->second;
    }
    void drop_collection(std::string_view ns) override { collections_.erase(find(ns)); }
    void rename_collection(std::string_view from, std::string_view to, bool stay_temp) override {
        const auto found = find(from);
        refuse_existing(to);
        auto node = collections_.extract(found);
        node.key() = to;
        node.mapped()->rename(to, stay_temp);
        collections_.insert(std::move(node));
    }
    DatabaseStats stats() const override {
        DatabaseStats s;
        for (const auto& [ns, collection] : collections_)
            s.file_bytes += collection->bytes();
        return s;
    }

  private:
    using Collections = std::map<std::string, std::unique_ptr<MemoryCollection>, std::less<>>;

    Collections::iterator find(std::string_view ns) {
        const auto found = collections_.find(ns);
        if (found == collections_.end())
            base::fail(base::kNamespaceNotFound, "ns not found: {}", ns);
        return found;
    }
    void refuse_existing(std::string_view ns) const {
        if (collections_.contains(ns))
            base::fail(base::kNamespaceExists, "collection {} already exists", ns);
    }

    std::string name_;
    Collections collections_;
};

class MemoryEngine : public Engine {
  public:
    explicit MemoryEngine(bool journal = true) : durability_(journal) {}
    // Copies the state that a restart finds of an engine that was shut down.
    explicit MemoryEngine(const MemoryEngine& stopped) : durability_(stopped.durability_) {
        for (const auto& [name, db] : stopped.databases_)
            databases_.emplace(name, std::make_unique<MemoryDatabase>(*db));
    }
    MemoryEngine& operator=(const MemoryEngine&) = delete;

    std::string_view name() const override { return "memory"; }
    LockManager& locks() override { return locks_; }
    Durability& durability() override { return durability_; }

    std::vector<std::string> database_names() const override {
        const std::shared_lock guard(mutex_);
        std::vector<std::string> names;
        for (const auto& [name, db] : databases_)
            names.push_back(name);
        return names;
    }
    int64_t database_bytes(std::string_view db) const override {
        const std::shared_lock guard(mutex_);
        const auto found = databases_.find(db);
        return found == databases_.end() ? 0 : found->second->stats().file_bytes;
    }
    DatabaseStore* database(std::string_view db) override {
        const std::shared_lock guard(mutex_);
        const auto found = databases_.find(db);
        return found == databases_.end() ? nullptr : found->second.get();
    }
    DatabaseStore& create_database(std::string_view db) override {
        const std::unique_lock guard(mutex_);
        auto& slot = databases_[std::string(db)];
        if (slot == nullptr) slot = std::make_unique<MemoryDatabase>(db);
        return *slot;
    }
    std::unique_ptr<Remains> drop_database(std::string_view db) override {
        const std::unique_lock guard(mutex_);
        databases_.erase(find(db));
        return nullptr;
    }
    void close_database(std::string_view db) override {
        const std::unique_lock guard(mutex_);
        auto& slot = find(db)->second;
        slot = std::make_unique<MemoryDatabase>(*slot);
    }
    void shutdown() override {}

  private:
    using Databases = std::map<std::string, std::unique_ptr<MemoryDatabase>, std::less<>>;

    Databases::iterator find(std::string_view db) {
        const auto found = databases_.find(db);
        if (found == databases_.end()) base::fail(base::kNamespaceNotFound, "no database {}", db);
        return found;
    }

    LockManager locks_;
    MemoryDurability durability_;
    mutable std::shared_mutex mutex_;
    Databases databases_;  // guarded by mutex_
};

}  // namespace storage::contract
