// refuse_calls.so - for LD_PRELOAD: one call to the system by which a server gets its threads and
// its event loops is refused, as a system that has no more of them does it.
//
// REFUSED_CALL=NAME:N refuses the Nth call of that function, and says so on stderr.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

static bool refuses(const char* name) {
    static int calls;
    const char* refused = getenv("REFUSED_CALL");
    const size_t length = strlen(name);
    if (refused == NULL || strncmp(refused, name, length) != 0 || refused[length] != ':')
        return false;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST) != atoi(refused + length + 1)) return false;
    static const char said[] = "a call is refused\n";
    return write(STDERR_FILENO, said, sizeof said - 1) > 0;
}

#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))
#define REFUSE_WITH(error) return errno = (error), -1

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
    if (refuses("pthread_create")) return EAGAIN;
    return NEXT(pthread_create)(thread, attributes, run, argument);
}

int epoll_create1(int flags) {
    if (refuses("epoll_create1")) REFUSE_WITH(EMFILE);
    return NEXT(epoll_create1)(flags);
}

// The system needs memory only where something is added.
int epoll_ctl(int epoll, int what, int fd, struct epoll_event* event) {
    if (what == EPOLL_CTL_ADD && refuses("epoll_ctl")) REFUSE_WITH(ENOSPC);
    return NEXT(epoll_ctl)(epoll, what, fd, event);
}

int epoll_wait(int epoll, struct epoll_event* events, int most, int milliseconds) {
    if (refuses("epoll_wait")) REFUSE_WITH(EINTR);
    return NEXT(epoll_wait)(epoll, events, most, milliseconds);
}

int eventfd(unsigned start, int flags) {
    if (refuses("eventfd")) REFUSE_WITH(EMFILE);
    return NEXT(eventfd)(start, flags);
}

int timerfd_create(int clock, int flags) {
    if (refuses("timerfd_create")) REFUSE_WITH(EMFILE);
    return NEXT(timerfd_create)(clock, flags);
}

int socket(int domain, int type, int protocol) {
    if (refuses("socket")) REFUSE_WITH(EMFILE);
    return NEXT(socket)(domain, type, protocol);
}

int listen(int fd, int backlog) {
    if (refuses("listen")) REFUSE_WITH(EADDRINUSE);
    return NEXT(listen)(fd, backlog);
}
