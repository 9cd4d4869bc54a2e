/* The wall clock of a process, in a test's hand: LD_PRELOAD this, and name in SHIFTED_CLOCK a file
   of two 64-bit numbers. Time is the first of them, in microseconds since the epoch, plus, if the
   second is not 0, the time of the machine. Clocks that only measure (monotonic) are left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *shift;

static int machine(clockid_t id, struct timespec *at) {
  return (int)syscall(SYS_clock_gettime, id, at);
}

static int is_wall(clockid_t id) {
  return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
}

int clock_gettime(clockid_t id, struct timespec *at) {
  int failed = machine(id, at);
  if (failed || !is_wall(id)) return failed;
  if (!shift) {
    const char *name = getenv("SHIFTED_CLOCK");
    int file = name ? open(name, O_RDONLY) : -1;
    void *found = file < 0 ? MAP_FAILED : mmap(0, 16, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (found == MAP_FAILED) abort();
    shift = found;
  }
  int64_t ns = (at->tv_sec * INT64_C(1000000000) + at->tv_nsec) * (shift[1] != 0) + shift[0] * 1000;
  at->tv_sec = ns / 1000000000;
  at->tv_nsec = ns % 1000000000;
  return 0;
}

int gettimeofday(struct timeval *at, void *zone) {
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  (void)zone;
  at->tv_sec = now.tv_sec;
  at->tv_usec = now.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
