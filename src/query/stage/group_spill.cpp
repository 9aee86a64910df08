#include "query/stage/group_spill.h"

#include "base/dcheck.h"
#include "bson/element_writer.h"
#include "query/stage/stage.h"

namespace query {

namespace {

constexpr size_t kNumberBytes = sizeof(uint64_t);
constexpr size_t kHeadBytes = kNumberBytes + 1;
// Each of the two sorts holds so many bytes in memory.
constexpr size_t kSortBytes = size_t{8} << 20;

constexpr auto kUse = spill::Folder::Use::operation;

}  // namespace

GroupSpill::GroupSpill(std::vector<Field> fields,
                       std::shared_ptr<const collation::Collator> collator,
                       const std::string& folder)
    : fields_(std::move(fields)),
      collator_(std::move(collator)),
      input_(ById{collator_.get()}, folder, kUse, kSortBytes),
      results_({}, folder, kUse, kSortBytes) {}

void GroupSpill::ById::read(std::span<const uint8_t> entry, Item& item) const {
    item.id = Value(entry.data() + kHeadBytes);
    item.entry = entry;
}

void GroupSpill::begin_entry(uint64_t number, Kind kind, const Value& id) {
    DCHECK(!id.missing());
    entry_.clear();
    entry_.append_value(number);
    entry_.append_byte(static_cast<uint8_t>(kind));
    write_value(entry_, "", id);
    head_bytes_ = entry_.size();
}

void GroupSpill::add_entry() {
    const std::span<const uint8_t> entry(entry_.data(), entry_.size());
    input_.add(entry.first(head_bytes_), {}, entry.subspan(head_bytes_));
    entry_.trim(kSortBytes);
}

void GroupSpill::add_document(uint64_t number, const Value& id, std::span<const Value> values) {
    DCHECK(values.size() == fields_.size());
    begin_entry(number, Kind::document, id);
    for (const Value& v : values) {
        if (v.missing()) {
            entry_.append_byte(static_cast<uint8_t>(bson::Type::eoo));
        } else {
            write_value(entry_, "", v);
        }
    }
    add_entry();
}

void GroupSpill::add_group(uint64_t number, const Value& id,
                           std::span<const std::unique_ptr<Accumulator>> accumulators) {
    DCHECK(accumulators.size() == fields_.size());
    begin_entry(number, Kind::group, id);
    for (const auto& accumulator : accumulators) {
        const size_t start = entry_.size();
        entry_.append_value<uint32_t>(0);
        accumulator->save(entry_);
        entry_.store(start, static_cast<uint32_t>(entry_.size() - start - sizeof(uint32_t)));
    }
    add_entry();
}

void GroupSpill::begin_group(const ById::Item& item) {
    number_ = bson::load<uint64_t>(item.entry.data());
    id_.clear();
    write_value(id_, "", item.id);
    accumulators_.clear();
    for (const Field& field : fields_)
        accumulators_.push_back(field.maker());
}

void GroupSpill::feed(const ById::Item& item) {
    const auto kind = static_cast<Kind>(item.entry[kNumberBytes]);
    const uint8_t* at = item.id.raw() + item.id.size();
    for (const auto& accumulator : accumulators_) {
        if (kind == Kind::group) {
            const auto bytes = bson::load<uint32_t>(at);
            accumulator->restore({at + sizeof bytes, bytes});
            at += sizeof bytes + bytes;
        } else if (*at == static_cast<uint8_t>(bson::Type::eoo)) {
            accumulator->add(Value());
            ++at;
        } else {
            const Value v(at);
            accumulator->add(v);
            at += v.size();
        }
    }
    DCHECK(at == item.entry.data() + item.entry.size());
}

void GroupSpill::end_group() {
    DCHECK(accumulators_.size() == fields_.size());
    result_.clear();
    const size_t start = open_doc(result_);
    write_value(result_, "_id", Value(id_.data()));
    for (size_t i = 0; i < fields_.size(); ++i)
        accumulators_[i]->write(fields_[i].name, result_);
    close_doc(result_, start);
    check_document_bytes(bson::Doc(result_.data()));
    results_.add({reinterpret_cast<const uint8_t*>(&number_), kNumberBytes}, {},
                 {result_.data(), result_.size()});
}

void GroupSpill::finish() {
    entry_ = bson::Buffer();
    input_.finish();
    while (const ById::Item* const item = input_.next()) {
        const bool same = id_.size() != 0 && compare_pipeline_values(item->id, Value(id_.data()),
                                                                     collator_.get()) == 0;
        if (!same) {
            if (id_.size() != 0) end_group();
            begin_group(*item);
        }
        feed(*item);
    }
    if (id_.size() != 0) end_group();
    accumulators_.clear();
    result_ = bson::Buffer();
    input_.clear();
    results_.finish();
}

bool GroupSpill::next(bson::Doc* out) {
    const uint8_t* const* const entry = results_.next();
    if (entry == nullptr) return false;
    *out = bson::Doc(*entry + kNumberBytes);
    return true;
}

}  // namespace query
