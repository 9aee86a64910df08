// options/catalogue.h - every option of the base. Whoever needs them all (the parsers, --help, the
// documents made from them) includes this; whoever uses one includes the file that describes it.
#pragma once

#include "options/absent.h"
#include "options/general.h"
#include "options/journal.h"
#include "options/logging.h"
#include "options/network.h"
#include "options/process.h"
#include "options/security.h"
#include "options/server_parameters.h"
#include "options/storage.h"
#include "options/tls.h"
