#include "storage/renamed.h"

namespace storage {

bson::Object renamed_options(bson::Doc options, std::string_view to, bool stay_temp) {
    bson::Builder out;
    for (const bson::Element& field : options) {
        if (field.name() == "create")
            out.append("create", to.substr(to.find('.') + 1));
        else if (field.name() != "temp" || stay_temp)
            out.append(field);
    }
    return out.object();
}

bson::Object renamed_spec(bson::Doc spec, std::string_view to) {
    bson::Builder out;
    for (const bson::Element& field : spec) {
        if (field.name() == "ns")
            out.append("ns", to);
        else
            out.append(field);
    }
    return out.object();
}

}  // namespace storage
