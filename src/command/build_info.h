// command/build_info.h - what this program is: the fields of buildInfo.
#pragma once

#include "bson/builder.h"

namespace command {

class Service;

void append_build_info(Service& service, bson::Builder& out);

}  // namespace command
