#include "base/damage.h"

namespace base {

namespace {

std::string& advice() {
    static std::string text;
    return text;
}

}  // namespace

const std::string& damage_advice() {
    return advice();
}
void set_damage_advice(std::string text) {
    advice() = std::move(text);
}

}  // namespace base
