#include "query/stage/narrowing.h"

#include "base/dcheck.h"
#include "bson/element_writer.h"
#include "sched/tick.h"

namespace query {

Narrowing::Narrowing(const Needs& needs, Others others) : Narrowing(others) {
    DCHECK(!needs.whole_document);
    for (const sched::String& path : needs.fields)
        add(path);
}

// Paths come in order: a whole field before its parts.
void Narrowing::add(std::string_view path) {
    Narrowing* at = this;
    for (size_t start = 0; start <= path.size();) {
        sched::tick();
        const size_t dot = std::min(path.find('.', start), path.size());
        const auto [field, made] =
            at->fields_.try_emplace(sched::String(path.substr(start, dot - start)));
        if (made) {
            field->second.reset(new Narrowing(others_));
        } else if (field->second->fields_.empty()) {
            return;
        }
        at = field->second.get();
        start = dot + 1;
    }
}

void Narrowing::write_doc(bson::Doc doc, bson::Buffer& out) const {
    const size_t start = open_doc(out);
    for (const Value& e : sched::ticked(doc)) {
        const auto field = fields_.find(e.name());
        if (field == fields_.end()) continue;
        if (field->second->fields_.empty()) {
            out.append(e.raw(), e.size());
        } else {
            field->second->write_inside(e, e.name(), out);
        }
    }
    close_doc(out, start);
}

bool Narrowing::keeps_all(bson::Doc doc) const {
    for (const Value& e : sched::ticked(doc)) {
        const auto field = fields_.find(e.name());
        if (field == fields_.end() || !field->second->fields_.empty()) return false;
    }
    return true;
}

void Narrowing::write_inside(const Value& e, std::string_view name, bson::Buffer& out) const {
    DCHECK(!fields_.empty());
    if (e.is_object()) {
        write_header(out, e.type(), name);
        write_doc(e.as_doc(), out);
    } else if (e.is_array()) {
        write_header(out, e.type(), name);
        const size_t start = open_doc(out);
        uint32_t index = 0;
        for (const Value& inner : sched::ticked(e.as_doc())) {
            if (others_ == Others::dropped && !inner.is_object() && !inner.is_array()) continue;
            write_inside(inner, bson::IndexName(index++).view(), out);
        }
        close_doc(out, start);
    } else if (others_ == Others::kept) {
        write_value(out, name, e);
    }
}

std::string_view path_without_positions(std::string_view path) {
    for (size_t start = path.find('.'); start != std::string_view::npos;) {
        const size_t end = path.find('.', start + 1);
        const std::string_view part = path.substr(start + 1, end - start - 1);
        if (part.find_first_not_of("0123456789") == std::string_view::npos)
            return path.substr(0, start);
        start = end;
    }
    return path;
}

namespace {

class Narrow final : public Stage {
  public:
    explicit Narrow(const Needs& needs) : narrowing_(needs, Narrowing::Others::kept) {}
    bool next(bson::Doc* out) override {
        bson::Doc doc;
        if (!previous_->next(&doc)) return false;
        out_.clear();
        narrowing_.write_doc(doc, out_);
        *out = bson::Doc(out_.data());
        return true;
    }
    void add_needs(Needs&) const override {}

  private:
    const Narrowing narrowing_;
    bson::Buffer out_;
};

}  // namespace

StagePtr make_narrowing_stage(const Needs& needs) {
    return std::make_unique<Narrow>(needs);
}

}  // namespace query
