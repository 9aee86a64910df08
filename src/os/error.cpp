#include "os/file.h"

namespace os {

IoError::IoError(const std::string& what, std::error_code reason)
    : base::Error(base::kOperationFailed, what + ": " + reason.message()), reason_(reason) {}

}  // namespace os
