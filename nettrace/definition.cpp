#include "nettrace/definition.hpp"

namespace farport::nettrace {
namespace {

std::size_t held_bytes_of_fields(const std::vector<Field>& fields) {
  std::size_t bytes = fields.capacity() * sizeof(Field);
  for (const Field& field : fields) bytes += field.name.size() + held_bytes_of_fields(field.fields);
  return bytes;
}

}  // namespace

std::size_t held_bytes(const Definition& definition) {
  std::size_t bytes = sizeof(Definition) + definition.provider.size() + definition.name.size() +
                      definition.message.size() + definition.description.size() +
                      held_bytes_of_fields(definition.fields);
  for (const auto& [key, value] : definition.attributes) {
    bytes += sizeof(definition.attributes.front()) + key.size() + value.size();
  }
  return bytes;
}

}  // namespace farport::nettrace
