#include "nn/files/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/joined.h"

namespace psm::nn {
namespace {

constexpr const char* kChecksumKey = "checksum";
constexpr const char* kMetadataKey = "__metadata__";
constexpr uint64_t kConvertedAtOnce = 1 << 14;
constexpr JsonLimits kHeaderLimits{.max_bytes = uint64_t{16} << 20, .max_depth = 4, .max_values = 1 << 18};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(message(path, " is not a safetensors file that can be used: ", why,
                      "; it is damaged or of another kind, make or copy it again"));
}

uint64_t add_text(uint64_t sum, const std::string& text) {
  const uint64_t length = text.size();
  return checksum64(text.data(), text.size(), checksum64(&length, sizeof length, sum));
}

uint64_t add_values(uint64_t sum, const std::vector<float>& values) {
  return checksum64(values.data(), values.size() * sizeof(float), sum);
}

// Over metadata, names, shapes and values, each preceded by its length.
class Checksum {
 public:
  explicit Checksum(const std::map<std::string, std::string>& metadata) {
    for (const auto& [key, value] : metadata) sum_ = add_text(add_text(sum_, key), value);
  }
  void add(const NamedTensor& tensor) {
    sum_ = add_text(sum_, tensor.name);
    const uint64_t rank = tensor.shape.size();
    sum_ = checksum64(&rank, sizeof rank, sum_);
    sum_ = checksum64(tensor.shape.data(), rank * sizeof(int64_t), sum_);
    sum_ = add_values(sum_, tensor.values);
  }
  std::string text() const { return hex(sum_); }

 private:
  uint64_t sum_ = 0;
};

std::string shape_text(std::span<const int64_t> shape) { return "[" + joined(shape) + "]"; }

// Numbers as they lie in the file, which promises no alignment.
template <typename Stored, float convert(Stored)>
void convert_all(const char* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, from + i * sizeof stored, sizeof stored);
    to[i] = convert(stored);
  }
}

float narrowed(double x) { return static_cast<float>(x); }

struct NumberType {
  std::string_view name;
  uint64_t bytes;
  // Null: F32, read as it is, or a type that is skipped.
  void (*convert)(const char* from, size_t count, float* to);
  bool skipped;
};

constexpr NumberType kTypes[] = {
    {"F32", 4, nullptr, false},
    {"F16", 2, convert_all<uint16_t, float_from_half>, false},
    {"BF16", 2, convert_all<uint16_t, float_from_bfloat16>, false},
    {"F64", 8, convert_all<double, narrowed>, false},
    {"BOOL", 1, nullptr, true},
    {"U8", 1, nullptr, true},
    {"I8", 1, nullptr, true},
    {"U16", 2, nullptr, true},
    {"I16", 2, nullptr, true},
    {"U32", 4, nullptr, true},
    {"I32", 4, nullptr, true},
    {"U64", 8, nullptr, true},
    {"I64", 8, nullptr, true},
};

struct Entry {
  std::string name;
  const NumberType* type;
  std::vector<int64_t> shape;
  uint64_t count, begin, end;
};

Entry parse_entry(const std::string& path, const std::string& name, const Json& json, uint64_t data_bytes) {
  const std::string what = message(path, ", tensor ", name);
  const std::string& type = json.at("dtype", what).string(what);
  const auto* known = std::ranges::find(kTypes, type, &NumberType::name);
  if (known == std::end(kTypes))
    throw Error(
        message(what, " has the type ", type,
                ", and of real numbers F32, F16, BF16 and F64 are read; convert the model to float32"));
  Entry entry{name, known, {}, 1, 0, 0};
  const uint64_t most = data_bytes / known->bytes;
  for (const Json& json_size : json.at("shape", what).array(what)) {
    entry.shape.push_back(json_size.integer(what, 0, INT64_MAX));
    const auto size = static_cast<uint64_t>(entry.shape.back());
    if (size > most || (size > 0 && entry.count > most / size))
      refuse(path, message("tensor ", name, " is larger than the file"));
    entry.count *= size;
  }
  const Json::Array& offsets = json.at("data_offsets", what).array(what);
  if (offsets.size() != 2) refuse(path, message("tensor ", name, " needs two data_offsets"));
  entry.begin = static_cast<uint64_t>(offsets[0].integer(what, 0, INT64_MAX));
  entry.end = static_cast<uint64_t>(offsets[1].integer(what, 0, INT64_MAX));
  if (entry.end > data_bytes) refuse(path, message("tensor ", name, " lies beyond its end: it is truncated"));
  if (entry.end < entry.begin || entry.end - entry.begin != entry.count * known->bytes)
    refuse(path,
           message("the data_offsets of tensor ", name, " do not fit its shape ", shape_text(entry.shape)));
  return entry;
}

void require_finite(const NamedTensor& tensor, const std::string& path) {
  for (size_t i = 0; i < tensor.values.size(); ++i)
    if (!std::isfinite(tensor.values[i]))
      throw Error(message(path, ": tensor ", tensor.name, " holds a value that is not finite (number ", i,
                          " of ", tensor.values.size(), " is ", tensor.values[i],
                          "); the training that made it diverged, or the file is damaged: give another"));
}

// An open file, past its header: of each tensor of `content` its entry.
struct OpenFile {
  ByteSource source;
  uint64_t data = 0;  // where it begins
  std::vector<Entry> entries = {};

  void read(void* to, uint64_t count) {
    if (!source.read(to, count)) refuse(source.name(), message("it has only ", source.size(), " bytes"));
  }

  std::vector<float> values(const Entry& entry) {
    std::vector<float> values(entry.count);
    source.seek(data + entry.begin);
    if (entry.type->convert == nullptr) {
      read(values.data(), entry.end - entry.begin);
      return values;
    }
    std::vector<char> stored;
    for (uint64_t done = 0; done < entry.count;) {
      const uint64_t count = std::min(kConvertedAtOnce, entry.count - done);
      stored.resize(count * entry.type->bytes);
      read(stored.data(), stored.size());
      entry.type->convert(stored.data(), count, values.data() + done);
      done += count;
    }
    return values;
  }
};

// Calls see(tensor) with each tensor's values in place, in the file's order.
template <typename See>
Safetensors read_through(OpenFile& file, ChecksumRule rule, See&& see) {
  ByteSource& source = file.source;
  const std::string& path = source.name();
  if (source.size() > kMaxSafetensors)
    throw Error(message("cannot read ", path, ": it has ", source.size(), " bytes, at most ", kMaxSafetensors,
                        " are expected here"));
  uint64_t length = 0;
  file.read(&length, sizeof length);
  if (length > source.left())
    refuse(path, message("its header claims ", length, " bytes but the file has ", source.size()));
  if (length > kHeaderLimits.max_bytes)
    refuse(path,
           message("its header has ", length, " bytes, at most ", kHeaderLimits.max_bytes, " are read"));
  file.data = source.position() + length;
  const uint64_t data_bytes = source.size() - file.data;

  const Json header = [&] {
    std::string text(length, '\0');
    file.read(text.data(), text.size());
    return parse_json(text, path, kHeaderLimits);
  }();
  Safetensors content;
  std::string checksum;
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.object(path)) {
    if (name != kMetadataKey) {
      entries.push_back(parse_entry(path, name, json, data_bytes));
      continue;
    }
    for (const auto& [key, value] : json.object(path + ", __metadata__")) {
      const std::string& text = value.string(path + ", __metadata__");
      if (key == kChecksumKey)
        checksum = text;
      else
        content.metadata[key] = text;
    }
  }
  std::vector<const Entry*> by_offset;
  for (const Entry& entry : entries) by_offset.push_back(&entry);
  // A tensor without values comes before the one that begins where it does.
  std::ranges::stable_sort(by_offset, {},
                           [](const Entry* entry) { return std::pair(entry->begin, entry->end); });
  uint64_t covered = 0;
  for (const Entry* entry : by_offset) {
    if (entry->begin != covered)
      refuse(path, message("tensor ", entry->name, " does not begin where the one before ends"));
    covered = entry->end;
  }
  if (covered != data_bytes)
    refuse(path, message("its tensors take ", covered, " bytes but ", data_bytes, " are there"));

  for (Entry& entry : entries)
    if (entry.type->skipped) {
      content.skipped.push_back(
          {std::move(entry.name), std::string(entry.type->name), std::move(entry.shape)});
    } else {
      content.tensors.push_back({entry.name, entry.shape, {}});
      file.entries.push_back(std::move(entry));
    }
  Checksum sum(content.metadata);
  for (size_t i = 0; i < file.entries.size(); ++i) {
    content.tensors[i].values = file.values(file.entries[i]);
    sum.add(content.tensors[i]);
    see(content.tensors[i]);
  }
  if (checksum.empty() ? rule == ChecksumRule::kRequired : checksum != sum.text())
    refuse(path, checksum.empty() ? "it has no checksum" : "its checksum does not fit its content");
  return content;
}

}  // namespace

NamedTensor* Safetensors::find(const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

std::vector<float>& Safetensors::at(const std::string& name, std::span<const int64_t> shape,
                                    const std::string& file) {
  NamedTensor* const found = find(name);
  if (found == nullptr)
    throw Error(message(file, ": tensor ", name, " is missing; the file is of another model"));
  if (!std::equal(shape.begin(), shape.end(), found->shape.begin(), found->shape.end()))
    throw Error(message(file, ": tensor ", name, " has shape ", shape_text(found->shape),
                        " where the model needs ", shape_text(shape), "; the file is of another model"));
  return found->values;
}

std::vector<float> Safetensors::take(const std::string& name, std::span<const int64_t> shape,
                                     const std::string& file) {
  std::vector<float> values = std::move(at(name, shape, file));
  const auto index = find(name) - tensors.data();
  if (load) return load(static_cast<size_t>(index));
  tensors.erase(tensors.begin() + index);
  return values;
}

void require_finite(const Safetensors& file, const std::string& path) {
  for (const NamedTensor& tensor : file.tensors) require_finite(tensor, path);
}

void write_safetensors(const std::string& path, const Safetensors& content) {
  Json header;
  for (const auto& [key, value] : content.metadata) header[kMetadataKey][key] = Json(value);
  Checksum checksum(content.metadata);
  for (const NamedTensor& tensor : content.tensors) checksum.add(tensor);
  header[kMetadataKey][kChecksumKey] = Json(checksum.text());
  uint64_t offset = 0;
  for (const NamedTensor& tensor : content.tensors) {
    Json::Array shape(tensor.shape.begin(), tensor.shape.end());
    const uint64_t end = offset + tensor.values.size() * sizeof(float);
    header[tensor.name] = Json::Object{{"dtype", Json("F32")},
                                       {"shape", Json(std::move(shape))},
                                       {"data_offsets", Json::Array{Json(offset), Json(end)}}};
    offset = end;
  }
  std::string text = header.dump(0);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps the data aligned
  parse_json(text, path, kHeaderLimits);        // as it will be read
  AtomicFile file(path);
  const uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text);
  for (const NamedTensor& tensor : content.tensors)
    if (!tensor.values.empty()) file.write(tensor.values.data(), tensor.values.size() * sizeof(float));
  file.commit();
}

Safetensors read_safetensors(ByteSource source, ChecksumRule rule) {
  OpenFile file{std::move(source)};
  return read_through(file, rule, [](const NamedTensor&) {});
}

Safetensors open_safetensors(ByteSource source, ChecksumRule rule) {
  const auto file = std::make_shared<OpenFile>(OpenFile{std::move(source)});
  std::vector<uint64_t> sums;
  Safetensors content = read_through(*file, rule, [&](NamedTensor& tensor) {
    require_finite(tensor, file->source.name());
    sums.push_back(add_values(0, tensor.values));
    tensor.values = {};
  });
  content.load = [file, sums = std::move(sums)](size_t index) {
    std::vector<float> values = file->values(file->entries[index]);
    if (add_values(0, values) != sums[index])
      throw Error(
          message(file->source.name(), " was changed while it was read; leave it alone and start again"));
    return values;
  };
  return content;
}

}  // namespace psm::nn
