// Definitions of events, as a metadata block has them.
#pragma once

#include "nettrace/cursor.hpp"
#include "nettrace/definition.hpp"

namespace farport::nettrace {

/// Reads the payload of one row (formats 4 and 5, "Metadata event encoding"). Fields that are described in a
/// way that is not known end with one of FieldType::unknown. Fails where sizes and counts don't fit, and
/// beyond the limits.
[[nodiscard]] Result<Definition> read_definition_4(Cursor row);

/// Reads one row without its size (format 6, "MetadataBlock"), with the same rules.
[[nodiscard]] Result<Definition> read_definition_6(Cursor row);

}  // namespace farport::nettrace
