#include "server/tls.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/error.h"
#include "options/tls.h"

namespace server {

namespace {

using namespace options;

// One thing by two names: the one that was given.
const Text& either(const Text& name, const Text& old_name) {
    if (name.is_set() && old_name.is_set() && name.get() != old_name.get())
        base::fail(base::kBadValue, "--{} and --{} say different things", name.description().name,
                   old_name.description().name);
    return name.is_set() ? name : old_name;
}

wire::TlsMode mode() {
    constexpr int kRequired = 3;  // the place in choices
    const int now = tls_mode.choice();
    const int old = ssl_on_normal_ports.get() ? kRequired : ssl_mode.choice();
    const bool both = tls_mode.is_set() && (ssl_mode.is_set() || ssl_on_normal_ports.is_set());
    if (both && now != old)
        base::fail(base::kBadValue, "--tlsMode and --sslMode say different things");
    const int chosen = tls_mode.is_set() ? now : old;
    if (chosen == 0) return wire::TlsMode::disabled;
    return chosen == kRequired ? wire::TlsMode::required : wire::TlsMode::allowed;
}

// What has no effect without a mode, and is as good as one: who gives it does not expect
// connections that are readable on the network.
void refuse_without_mode(std::initializer_list<const Text*> files) {
    if (tls_mode.is_set() || ssl_mode.is_set() || ssl_on_normal_ports.get()) return;
    for (const Text* option : files) {
        if (!option->get().empty())
            base::fail(base::kBadValue, "--{} has no effect without --tlsMode",
                       option->description().name);
    }
}

void disable(std::string_view name, wire::TlsOptions& out) {
    if (name == "TLS1_2") {
        out.tls_1_2 = false;
    } else if (name == "TLS1_3") {
        out.tls_1_3 = false;
    } else if (name != "TLS1_0" && name != "TLS1_1" && name != "none" && !name.empty()) {
        base::fail(base::kBadValue, "--tlsDisabledProtocols: there is no protocol {}", name);
    }
}

}  // namespace

wire::TlsOptions tls_options() {
    wire::TlsOptions out;
    out.mode = mode();
    const Text& certificate = either(tls_certificate_key_file, ssl_pem_key_file);
    const Text& password = either(tls_certificate_key_file_password, ssl_pem_key_password);
    const Text& authorities = either(tls_ca_file, ssl_ca_file);
    const Text& revoked = either(tls_crl_file, ssl_crl_file);
    out.certificate_key_file = certificate.get();
    out.password = password.get();
    out.ca_file = authorities.get();
    out.crl_file = revoked.get();
    out.without_certificate = tls_allow_without_certificates.get() ||
                              ssl_allow_without_certificates.get() ||
                              ssl_weak_certificate_validation.get();
    std::string names = either(tls_disabled_protocols, ssl_disabled_protocols).get();
    for (size_t begin = 0; begin <= names.size();) {
        const size_t comma = std::min(names.find(',', begin), names.size());
        disable(std::string_view(names).substr(begin, comma - begin), out);
        begin = comma + 1;
    }
    if (!out.tls_1_2 && !out.tls_1_3)
        base::fail(base::kBadValue, "--tlsDisabledProtocols leaves no protocol to speak");
    refuse_without_mode({&certificate, &password, &authorities, &revoked});
    if (out.mode == wire::TlsMode::disabled) return out;
    if (out.certificate_key_file.empty())
        base::fail(base::kBadValue, "--tlsMode needs --tlsCertificateKeyFile");
    if (!out.crl_file.empty() && out.ca_file.empty())
        base::fail(base::kBadValue, "--tlsCRLFile needs --tlsCAFile");
    return out;
}

}  // namespace server
