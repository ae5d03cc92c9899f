// hakmem's Mixed workload: a working set of slots,
// each step frees an occupied slot or fills an empty one with a random size.
//   random_mixed ITERS WS SEED [MIN MAX]      (defaults 16 1024)
// Prints ops/s (a malloc or a free is one op) and the peak RSS. Run it under LD_PRELOAD.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
static inline uint32_t next(uint32_t *s) { uint32_t x = *s; x ^= x << 13; x ^= x >> 17; x ^= x << 5; return *s = x; }
int main(int argc, char **argv) {
  uint64_t iters = argc > 1 ? strtoull(argv[1], 0, 10) : 20000000;
  uint32_t ws = argc > 2 ? atoi(argv[2]) : 400, seed = argc > 3 ? atoi(argv[3]) : 1;
  uint32_t lo = argc > 4 ? atoi(argv[4]) : 16, hi = argc > 5 ? atoi(argv[5]) : 1024;
  uint32_t s = seed * 2654435761u | 1;
  static unsigned char *slot[1 << 20];
  uint32_t span = hi - lo + 1;
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (uint64_t i = 0; i < iters; i++) {
    uint32_t r = next(&s), k = (uint32_t)(((uint64_t)r * ws) >> 32);
    if (slot[k]) { free(slot[k]); slot[k] = 0; }
    else {
      uint32_t n = lo + (uint32_t)(((uint64_t)next(&s) * span) >> 32);
      unsigned char *p = malloc(n);
      if (!p) { fprintf(stderr, "out of memory\n"); return 1; }
      p[0] = (unsigned char)n; p[n - 1] = (unsigned char)n;
      slot[k] = p;
    }
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  for (uint32_t k = 0; k < ws; k++) free(slot[k]);
  double t = (b.tv_sec - a.tv_sec) + 1e-9 * (b.tv_nsec - a.tv_nsec);
  struct rusage u; getrusage(RUSAGE_SELF, &u);
  printf("ops/s %.0f  time %.3f s  peak_rss_kb %ld\n", iters / t, t, u.ru_maxrss);
}
