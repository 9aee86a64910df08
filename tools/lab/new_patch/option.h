// journal/options/$file.h - the option $option.
#pragma once

#include "options/option.h"

namespace journal {

extern options::Flag $file;

}  // namespace journal
