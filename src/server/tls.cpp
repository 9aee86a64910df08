#include "server/tls.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/error.h"
#include "options/tls.h"

namespace server {

namespace {

using namespace options;

wire::TlsMode mode() {
    constexpr int kRequired = 3;  // the place in choices
    const int chosen = tls_mode.choice();
    if (chosen == 0) return wire::TlsMode::disabled;
    return chosen == kRequired ? wire::TlsMode::required : wire::TlsMode::allowed;
}

// Refuses files without a mode: they have no effect then, and yet are as good as one, since who
// gives them does not expect connections that are readable on the network.
void refuse_without_mode(std::initializer_list<const Text*> files) {
    if (tls_mode.is_set()) return;
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
    out.certificate_key_file = tls_certificate_key_file.get();
    out.password = tls_certificate_key_file_password.get();
    out.ca_file = tls_ca_file.get();
    out.crl_file = tls_crl_file.get();
    out.without_certificate = tls_allow_without_certificates.get();
    const std::string names = tls_disabled_protocols.get();
    for (size_t begin = 0; begin <= names.size();) {
        const size_t comma = std::min(names.find(',', begin), names.size());
        disable(std::string_view(names).substr(begin, comma - begin), out);
        begin = comma + 1;
    }
    if (!out.tls_1_2 && !out.tls_1_3)
        base::fail(base::kBadValue, "--tlsDisabledProtocols leaves no protocol to speak");
    refuse_without_mode({&tls_certificate_key_file, &tls_certificate_key_file_password,
                         &tls_ca_file, &tls_crl_file});
    if (out.mode == wire::TlsMode::disabled) return out;
    if (out.certificate_key_file.empty())
        base::fail(base::kBadValue, "--tlsMode needs --tlsCertificateKeyFile");
    if (!out.crl_file.empty() && out.ca_file.empty())
        base::fail(base::kBadValue, "--tlsCRLFile needs --tlsCAFile");
    return out;
}

}  // namespace server
