// $option: say in a line what it changes.
//
// Say why one would want that.
#include "journal/options/$file.h"

namespace journal {

options::Flag $file({
    .name = "$option",
    .yaml = {"$yaml"},
    .group = options::Group::added_to_journal,
    .help = "Says what it does, and what it costs. Durability is unchanged. Default {default}.",
    .parameter = options::Parameter::read_only,
});

}  // namespace journal
