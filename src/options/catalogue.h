// options/catalogue.h - every option of the base. Code that needs all of them (the parsers, --help,
// the documents made from them) includes this; code that uses one includes the file that describes
// it.
#pragma once

#include "options/absent.h"
#include "options/general.h"
#include "options/journal.h"
#include "options/logging.h"
#include "options/memory_limit.h"
#include "options/network.h"
#include "options/process.h"
#include "options/replication.h"
#include "options/rocksdb.h"
#include "options/security.h"
#include "options/server_parameters.h"
#include "options/storage.h"
#include "options/tls.h"
#include "options/wiredtiger.h"
