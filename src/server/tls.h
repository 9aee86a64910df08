// server/tls.h - the options of TLS as the listener wants them.
#pragma once

#include "wire/tls.h"

namespace server {

// Throws base::Error when the options contradict each other, or name an unknown protocol. Reads no
// file.
wire::TlsOptions tls_options();

}  // namespace server
