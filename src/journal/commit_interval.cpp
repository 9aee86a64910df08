#include "journal/commit_interval.h"

#include "options/journal.h"

namespace journal {

CommitInterval configured_commit_interval() {
    if (!options::journal_commit_interval.is_set()) return {};
    return options::journal_commit_interval.get() * 1000;
}

}  // namespace journal
