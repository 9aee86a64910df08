// storage/testing/space_refusal.h - for tests: requests for space (storage/space_request.h) that
// are refused.
#pragma once

namespace storage::test {

// Called at each request; it refuses one by throwing base::Error. Null: none is refused.
void on_space_request(void (*hook)());

}  // namespace storage::test
