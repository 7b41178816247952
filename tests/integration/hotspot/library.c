/* What a P/Invoke of hotspot spends its time in: a function that is exported, and one that only .symtab
 * names. */
static __attribute__((noinline)) long hotspot_that_only_symtab_names(long rounds) {
  volatile long sum = 0;
  for (long i = 0; i < rounds; ++i) sum += i;
  return sum;
}

long hotspot_in_the_library(long rounds) {
  return hotspot_that_only_symtab_names(rounds) + 1;
}
