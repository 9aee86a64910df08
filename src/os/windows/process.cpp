#include "os/process.h"

#include <windows.h>

namespace os {

int64_t process_id() {
    return ::GetCurrentProcessId();
}

}  // namespace os
