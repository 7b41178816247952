// What a placeholder is told to look like: by the mirror, in C++, to the placeholder's program, in C.
#pragma once

// In the byte order of the host that both run on. `bytes` of texts follow, each with a zero after it: the
// path of the program to execute, its arguments, its environment.
struct Look {
  unsigned bytes;
  unsigned arguments;
  unsigned variables;
};
