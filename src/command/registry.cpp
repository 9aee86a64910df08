#include "command/registry.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "catalog/catalog.h"

namespace command {

namespace {

class Registry {
  public:
    Registry() {
        for (const auto family :
             {handshake_commands(),     diagnostic_commands(),    parameter_commands(),
              last_error_commands(),    write_commands(),         find_and_modify_commands(),
              find_commands(),          count_commands(),         aggregate_commands(),
              explain_commands(),       collection_commands(),    index_commands(),
              database_commands(),      capped_commands(),        maintenance_commands(),
              stats_commands(),         server_status_commands(), current_op_commands(),
              durability_commands(),    test_commands(),          user_commands(),
              parallel_scan_commands(), cluster_commands(),       refused_commands()}) {
            for (const Command& command : family) {
                by_name_.emplace(command.name, &command);
                if (!command.alias.empty()) by_name_.emplace(command.alias, &command);
                sorted_.push_back(&command);
            }
        }
        std::ranges::sort(sorted_, {}, [](const Command* c) { return c->name; });
    }
    const Command* find(std::string_view name) const {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }
    std::span<const Command* const> sorted() const { return sorted_; }

  private:
    std::unordered_map<std::string_view, const Command*> by_name_;
    std::vector<const Command*> sorted_;
};

const Registry& registry() {
    static const Registry instance;
    return instance;
}

// Names end at a NUL, as they do in the files.
std::string_view until_nul(std::string_view text) {
    return text.substr(0, text.find('\0'));
}

std::string joined(std::string_view db, std::string_view collection) {
    std::string ns;
    ns.reserve(db.size() + 1 + collection.size());
    ns.append(db).append(1, '.').append(collection);
    return ns;
}

}  // namespace

const Command* find_command(std::string_view name) {
    return registry().find(name);
}

std::span<const Command* const> all_commands() {
    return registry().sorted();
}

std::string Invocation::ns() const {
    const bson::Element target = first();
    if (!target.is_string())
        base::fail(base::kInvalidNamespace, "collection name has invalid type for {}", name);
    const std::string_view collection = until_nul(target.as_string());
    if (collection.empty())
        base::fail(base::kInvalidNamespace, "Invalid namespace specified '{}.{}'", db, collection);
    return joined(db, collection);
}

std::string Invocation::ns_or_none() const {
    const bson::Element target = first();
    std::string ns = joined(db, target.is_string() ? until_nul(target.as_string()) : "");
    if (ns.size() > catalog::kMaxIndexNamespace)
        base::fail(10080, "ns name too long, max size is {} bytes", catalog::kMaxIndexNamespace);
    return ns;
}

int64_t Invocation::count_documents(std::string_view field) const {
    if (msg != nullptr) {
        if (const wire::DocSequence* sequence = msg->sequence(field))
            return static_cast<int64_t>(sequence->count());
    }
    const bson::Element list = body[field];
    return list.is_array() ? list.as_doc().field_count() : -1;
}

}  // namespace command
