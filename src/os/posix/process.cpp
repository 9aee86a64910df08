#include <unistd.h>

#include "os/process.h"

namespace os {

int64_t process_id() {
    return ::getpid();
}

}  // namespace os
