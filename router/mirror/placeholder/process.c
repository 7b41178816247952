// The placeholder's program: stands in the process table for a remote runtime, and does nothing else. Without
// libc, so that each one costs a few pages of memory. Linux only; its arguments are nobody's business but
// ps's.
//
// Environment: FARPORT_NAME, the name to go by (comm). Standard output is a socket: a byte says that the
// process is ready; what comes back is what it is to look like from then on (see look.h).
#include <asm/unistd.h>
#include <linux/prctl.h>
#include <linux/signal.h>

#include "look.h"

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call placeholder\n");

static long call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n  mov x0, sp\n  bl placeholder\n");

static long call(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}
#else
#error "the placeholder is written for x86-64 and AArch64"
#endif

static const int kSocket = 1;

static void set_name(char** environment) {
  static const char kVariable[] = "FARPORT_NAME=";
  for (; *environment != 0; ++environment) {
    const char* text = *environment;
    const char* expected = kVariable;
    while (*expected != 0 && *text == *expected) {
      ++text;
      ++expected;
    }
    if (*expected == 0) call(__NR_prctl, PR_SET_NAME, (long)text, 0, 0, 0);
  }
}

// The kernel's structure, which is not libc's.
static void ignore(int signal) {
  const struct { unsigned long handler, flags, restorer, mask; } action = {(unsigned long)SIG_IGN, 0, 0, 0};
  call(__NR_rt_sigaction, signal, (long)&action, 0, sizeof action.mask, 0);
}

__attribute__((noreturn)) static void end(void) {
  for (;;) call(__NR_exit_group, 1, 0, 0, 0, 0);
}

static void read_all(char* to, long bytes) {
  while (bytes > 0) {
    const long got = call(__NR_read, kSocket, (long)to, bytes, 0, 0);
    if (got <= 0) end();
    to += got;
    bytes -= got;
  }
}

// Points to each of `count` texts from `text` on, and ends the list. Returns what stands after them.
static char* point_to(char** pointers, unsigned count, char* text) {
  for (; count > 0; --count, ++pointers) {
    *pointers = text;
    while (*text != 0) ++text;
    ++text;
  }
  *pointers = 0;
  return text;
}

// Waits for another look, and executes itself under it: the process, its pid and its start stay the same.
__attribute__((noreturn)) static void await_look(void) {
  struct Look look;
  read_all((char*)&look, sizeof look);
  char texts[look.bytes];
  char* pointers[look.arguments + look.variables + 2];
  read_all(texts, look.bytes);
  char** const variables = pointers + look.arguments + 1;
  char* path = texts;
  while (*path != 0) ++path;
  char* const text = point_to(pointers, look.arguments, path + 1);
  point_to(variables, look.variables, text);
  call(__NR_execve, (long)texts, (long)pointers, (long)variables, 0, 0);
  end();
}

// `stack` is what the kernel leaves at the stack pointer: the count of arguments, the arguments and a zero,
// the environment and a zero.
__attribute__((noreturn, used)) void placeholder(long* stack) {
  // Dies with the mirror. Where that was gone already there is nobody to say «ready» to, and the write fails
  // or kills: so no mirror's death falls between the two.
  call(__NR_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  set_name((char**)stack + 1 + stack[0] + 1);
  // A Ctrl-C is the mirror's to act on.
  ignore(SIGINT);
  ignore(SIGHUP);
  if (call(__NR_write, kSocket, (long)"!", 1, 0, 0) != 1) end();
  await_look();
}
