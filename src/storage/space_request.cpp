#include "storage/space_request.h"

namespace storage {

[[gnu::weak]] void ask_for_space() {}  // tests have another one: storage/testing/space_refusal.h

}  // namespace storage
