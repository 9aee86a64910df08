// storage/validate_fields.h - a field that CollectionStore::validate() appends to the metrics,
// beside what each engine has of its own: how many records are no documents. It is there where
// ValidateOptions::scan_data asks for a look at them.
#pragma once

namespace storage {

inline constexpr const char* kInvalidDocuments = "nInvalidDocuments";

}  // namespace storage
