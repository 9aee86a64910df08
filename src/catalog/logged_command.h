// catalog/logged_command.h - a change that is no document's, and its entry in the log of changes: a
// command.
#pragma once

#include <optional>
#include <string_view>

#include "bson/builder.h"
#include "catalog/change_log.h"
#include "catalog/names.h"
#include "storage/open_change.h"

namespace catalog {

// The entry of a command: it is made before the first byte of the change; told() writes the entry,
// last. Without a log it does nothing. If the change fails, the object goes without an entry.
class LoggedCommand {
  public:
    // Throws what ChangeLog::prepare does. `fields_bytes`: of the entry, beside names.
    LoggedCommand(ChangeLog* log, int32_t fields_bytes) : log_(log) {
        if (log_ == nullptr) return;
        log_->prepare(0, fields_bytes);
        open_.emplace(true);
    }
    // {name: collection, and the fields}
    void told(const char* name, std::string_view ns, bson::Doc fields = {}) {
        if (log_ == nullptr) return;
        bson::Builder command;
        command.append(name, split(ns).collection);
        for (const bson::Element& e : fields)
            if (e.name() != name) command.append(e);
        log_->command(split(ns).db, command.doc());
        open_.reset();
    }
    // One for the database `admin`.
    void told(const bson::Object& command) {
        if (log_ == nullptr) return;
        log_->command("admin", command);
        open_.reset();
    }
    static bson::Object renaming(std::string_view from, std::string_view to, bool stay_temp,
                                 bool drop_target) {
        return bson::make("renameCollection", from, "to", to, "stayTemp", stay_temp, "dropTarget",
                          drop_target);
    }

  private:
    ChangeLog* const log_;
    std::optional<storage::OpenChange> open_;
};

}  // namespace catalog
