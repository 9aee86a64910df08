#include "journal/log_file.h"

namespace journal {

os::OpenOptions log_file_options() {
    return {.access = os::Access::write,
            .create = true,
            .direct = true,
            .write_through = true,
            .no_atime = true};
}

}  // namespace journal
