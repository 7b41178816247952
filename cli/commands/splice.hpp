// Copying from one descriptor to another, in the kernel where it can.
#pragma once

namespace farport::cli {

/// Copies all that comes until the end, waiting as long as it takes. False: one of the two failed.
bool copy_all(int from, int to);

}  // namespace farport::cli
