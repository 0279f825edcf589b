/* Lets the programs of a lab node see the kernel name and the clock of the board that it plays.
 *
 * Preloaded into every program of the node by /etc/ld.so.preload. uname() tells the machine and
 * the kernel release of /run/fake-board/uname; the wall clock is moved by the seconds of
 * /run/fake-board/clock. Without those files nothing changes. Programs that do not ask the C
 * library (dockerd and docker are Go) keep what the kernel says, and so does process 1: its timers
 * run by the kernel's clock, and systemd does not start on a processor that it was not built for.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static char fake_machine[65], fake_release[65];
static time_t moved_s;

static void read_file(const char *path, char *text, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, room - 1);
    text[got > 0 ? got : 0] = 0;
    if (file >= 0)
        close(file);
}

__attribute__((constructor)) static void read_fakes(void)
{
    char text[160];
    if (getpid() == 1)
        return;
    read_file("/run/fake-board/uname", text, sizeof text);
    if (sscanf(text, "%64s %64s", fake_machine, fake_release) != 2)
        fake_machine[0] = fake_release[0] = 0;
    read_file("/run/fake-board/clock", text, sizeof text);
    moved_s = (time_t)atoll(text);
}

int uname(struct utsname *name)
{
    int status = (int)syscall(SYS_uname, name);
    if (status == 0 && fake_machine[0]) {
        snprintf(name->machine, sizeof name->machine, "%s", fake_machine);
        snprintf(name->release, sizeof name->release, "%s", fake_release);
    }
    return status;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += moved_s;
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    int status = clock_gettime(CLOCK_REALTIME, &exact);
    (void)zone;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return status;
}

time_t time(time_t *now)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}
