// base/damage.h - errors about files that are cut or damaged.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace base {

// The code of an error about a file that is cut or damaged: fail(Damaged{1}, "bad {}", x). Its text
// ends with how to get out what can be read.
struct Damaged {
    int code;
};

// That end, with the data directory in it. Empty until it is set, which is for a program that knows
// the directory, before it has other threads.
const std::string& damage_advice();
void set_damage_advice(std::string advice);

template <typename... Args>
[[noreturn]] void fail(Damaged damaged, fmt::format_string<Args...> format, Args&&... args) {
    throw Error(damaged.code,
                fmt::format(format, std::forward<Args>(args)...).append(damage_advice()));
}

}  // namespace base
