// catalog/logged_command.h - a change that is no document's, and its entry in the log of changes: a
// command.
#pragma once

#include <string_view>

#include "bson/builder.h"
#include "catalog/change_log.h"
#include "catalog/names.h"
#include "storage/write_unit.h"

namespace catalog {

// The unit of a command: it is made before the first byte of the change; told() writes the entry.
// Nothing interrupts the thread while it lives. If the change fails, it goes without an entry.
class LoggedCommand {
  public:
    // Throws what ChangeLog::prepare does. `fields_bytes`: of the entry, beside names.
    LoggedCommand(storage::Durability& durability, ChangeLog* log, int32_t fields_bytes)
        : log_(log), unit_(durability) {
        if (log_ == nullptr) return;
        unit_.admit(log_->prepare(fields_bytes));
        unit_.begin();
    }
    // {name: collection, and the fields}
    void told(const char* name, std::string_view ns, bson::Doc fields = {}) {
        if (log_ == nullptr) return;
        bson::Builder command;
        command.append(name, split(ns).collection);
        for (const bson::Element& e : fields)
            if (e.name() != name) command.append(e);
        unit_.keep([&] { log_->command(split(ns).db, command.doc(), nullptr); });
    }
    // One for the database `admin`.
    void told(const bson::Object& command) {
        if (log_ == nullptr) return;
        unit_.keep([&] { log_->command("admin", command, nullptr); });
    }
    static bson::Object renaming(std::string_view from, std::string_view to, bool stay_temp,
                                 bool drop_target) {
        return bson::make("renameCollection", from, "to", to, "stayTemp", stay_temp, "dropTarget",
                          drop_target);
    }

  private:
    ChangeLog* const log_;
    storage::WriteUnit unit_;
};

}  // namespace catalog
