#include "server/coordinator_options.h"

#include <utility>

#include "coordinator/etcd.h"
#include "options/catalogue.h"
#include "server/key_file.h"
#include "server/text_file.h"

namespace server {

namespace {

// The first line of a file that others may not read.
std::string password_in(const std::string& path) {
    check_is_of_owner_alone(path);
    const std::string text = read_text_file(path);
    return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

std::unique_ptr<election::Coordinator> open_coordinator() {
    coordinator::EtcdOptions given;
    given.endpoints = coordinator::parse_endpoints(options::coordinator.get());
    given.user = options::coordinator_user.get();
    if (options::coordinator_password_file.is_set())
        given.password = password_in(options::coordinator_password_file.get());
    given.ca_file = options::coordinator_ca_file.get();
    given.certificate_key_file = options::coordinator_certificate_key_file.get();
    return std::make_unique<coordinator::Etcd>(std::move(given));
}

}  // namespace server
