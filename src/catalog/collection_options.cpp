#include "catalog/collection_options.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "catalog/index_keys.h"
#include "catalog/uuid.h"
#include "catalog/validator.h"
#include "options/server_parameters.h"

namespace catalog {

namespace {

constexpr int64_t kMinCappedBytes = 4096;
constexpr int64_t kCappedGranule = 256;
constexpr int kExtentsMax = 1000;  // made at once
constexpr int64_t kNoLimit = std::numeric_limits<int32_t>::max();

void refuse_options_of_today(bson::Doc options) {
    constexpr std::string_view kRefused[] = {
        "timeseries",      "clusteredIndex",      "expireAfterSeconds",          "encryptedFields",
        "recordPreImages", "indexOptionDefaults", "changeStreamPreAndPostImages"};
    for (const std::string_view field : kRefused) {
        const bson::Element e = options[field];
        const bool asks_nothing =
            field == "recordPreImages"
                ? !e.truthy()
                : field == "indexOptionDefaults" && e.is_object() && e.as_doc().empty();
        if (e && !asks_nothing)
            base::fail(base::kInvalidOptions, "the option '{}' is not supported by this server",
                       field);
    }
    const bson::Element engine = options["storageEngine"];
    if (engine.is_object() && !engine.as_doc().empty())
        base::fail(base::kInvalidOptions, "the option 'storageEngine' is not supported");
}

// Returns the element, or none if it is no number: such an option counts as not given.
bson::Element number(const bson::Element& e) {
    return e.is_number() ? e : bson::Element();
}

int64_t capped_bytes(const bson::Element& size) {
    const int64_t rounded =
        (size.to_int64() + kCappedGranule - 1) / kCappedGranule * kCappedGranule;
    return std::max(rounded, kMinCappedBytes);
}

int64_t max_documents(const bson::Element& max) {
    if (max.to_double() >= static_cast<double>(int64_t{1} << 31))
        base::fail(base::kBadValue, "max in a capped collection has to be < 2^31 or not set");
    const int64_t given = max.to_int64();
    return given <= 0 || given == kNoLimit ? kNoLimit : given;
}

void append_extents(const bson::Element& extents, storage::CollectionOptions& out,
                    bson::Builder& stored, int64_t size) {
    if (extents.is_array()) {
        if (extents.as_doc().field_count() > kExtentsMax)
            base::fail(base::kBadValue, "$nExtents has to be a list of {} sizes at most",
                       kExtentsMax);
        bson::Builder list = stored.sub_array("$nExtents");
        for (const bson::Element& e : extents.as_doc()) {
            out.extent_bytes.push_back(e.to_int64());
            list.push(e.to_int64());
        }
        return;
    }
    const int64_t count = std::clamp<int64_t>(extents.to_int64(), 0, kExtentsMax);
    out.extent_bytes.assign(static_cast<size_t>(count), size);
    stored.append("$nExtents", static_cast<int32_t>(count));
}

}  // namespace

storage::CollectionOptions parse_collection_options(bson::Doc options) {
    refuse_options_of_today(options);
    const bson::Element capped = options["capped"];
    const bson::Element size = number(options["size"]);
    const bson::Element max = number(options["max"]);
    const bson::Element flags = options["flags"];
    const bson::Element extents = options["$nExtents"];
    // Beyond 64 bits the old server saw a negative number.
    if (size && (size.to_double() < 0 || size.to_double() >= 0x1p63))
        base::fail(base::kBadValue, "size has to be >= 0 and less than 2^63");

    storage::CollectionOptions out;
    out.id_index = true;
    bson::Builder stored;
    out.capped = capped.truthy();
    if (out.capped) {
        if (size.missing() && extents.missing())
            base::fail(14832, "specify size:<n> when capped is true");
        out.capped_bytes = capped_bytes(size);
        stored.append("capped", true).append_number("size", out.capped_bytes);
        if (max) {
            const int64_t limit = max_documents(max);
            out.capped_max_documents = limit == kNoLimit ? 0 : limit;
            stored.append_number("max", limit);
        }
    }
    if (extents.is_number() || extents.is_array())
        append_extents(extents, out, stored, out.capped ? out.capped_bytes : size.to_int64());
    if (const bson::Element automatic = options["autoIndexId"]) {
        out.id_index = automatic.truthy();
        stored.append("autoIndexId", out.id_index);
    }
    out.user_flags = !out.capped && options::power_of_2_by_default.get() ? 1 : 0;
    if (flags.is_number()) {
        if (!out.capped) out.user_flags = flags.to_int32();
        stored.append("flags", flags.to_int32());
    }
    if (options["temp"].truthy()) stored.append("temp", true);
    if (const auto collator = collator_of(options)) stored.append("collation", collator->spec());
    if (const bson::Element uuid = options[kUuidOption]; is_uuid_option(uuid)) stored.append(uuid);
    for (const bson::Element& e : options)
        if (is_validation_option(e.name())) stored.append(e);
    out.options = stored.object();
    return out;
}

}  // namespace catalog
