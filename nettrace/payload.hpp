// Decodes payloads by their definitions.
#pragma once

#include "nettrace/cursor.hpp"
#include "nettrace/definition.hpp"
#include "nettrace/value.hpp"

namespace farport::nettrace {

/// The values of a definition's fields, in their order: of an event's `payload`, which is at `offset` in the
/// stream. Ends before a field of an unknown type. Bytes behind the last field are left alone: newer versions
/// of an event append fields. Fails where a field goes beyond the payload, and beyond kMostPayloadValues. The
/// names are views of the definition's.
[[nodiscard]] Result<Structure> decode_payload(const Definition& definition, BytesView payload,
                                               std::uint64_t offset);

}  // namespace farport::nettrace
