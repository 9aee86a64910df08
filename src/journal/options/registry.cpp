#include "journal/options/registry.h"

#include <map>

#include "base/error.h"

namespace journal::options {

namespace {

// Never destroyed, and made at first use: registrations come from other files' static objects.
std::map<std::string, Descriptor, std::less<>>& registry() {
    static auto* instance = new std::map<std::string, Descriptor, std::less<>>;
    return *instance;
}

}  // namespace

Registration::Registration(Descriptor descriptor) {
    const std::string name = descriptor.name;
    if (!registry().emplace(name, std::move(descriptor)).second)
        base::fatal(0, fmt::format("journal option {} is registered twice", name));
}

std::vector<const Descriptor*> all() {
    std::vector<const Descriptor*> result;
    for (const auto& [name, descriptor] : registry())
        result.push_back(&descriptor);
    return result;
}

const Descriptor* find(std::string_view name) {
    const auto found = registry().find(name);
    return found == registry().end() ? nullptr : &found->second;
}

}  // namespace journal::options
