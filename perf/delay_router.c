/* Question: what does a network between distant machines do to servers that run on this one?
 *
 * Makes machines of its own: network namespaces with the addresses 10.77.0.1, 10.77.0.2 and so on,
 * each with a TUN device, and carries packets from one to the other, as late as the input says. A
 * packet never overtakes another one on the same line, and none is lost but where a line is cut.
 * Many kernels have no delays of their own (netem), and almost all have TUN.
 * Usage:    delay_router NODES; tests/lib/network.py starts it and speaks with it
 * Output:   "ready", then for each node the descriptor of its namespace: a program enters one by
 *           nsenter --net=/proc/PID/fd/DESCRIPTOR
 * Input:    lines "FROM TO MICROSECONDS" or "FROM TO cut", of nodes from 0 on: from now on for what
 *           enters the line in that direction. Each gets the answer "ok". At the end of the input
 *           the program ends, and with it and what runs in them the namespaces.
 * Needs:    CAP_NET_ADMIN and CAP_SYS_ADMIN, /dev/net/tun
 * Overhead: about 30 us a packet, which the round trip over a line without a delay shows. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "command_line.h"
#include "histogram.h"

enum {
    NODES_MAX = 16,
    PACKET_BYTES_MAX = 65536,
    QUEUE_PACKETS = 5000, /* of a device, while this program waits for a processor */
    BATCH = 64,           /* packets of a node before the next one has its turn */
    COMMANDS_BYTES_MAX = 4096,
};
static const uint32_t NETWORK = 10u << 24 | 77u << 16; /* with 255.255.255.0 */

typedef struct packet {
    struct packet* next;
    uint64_t due_ns;
    size_t bytes;
    uint8_t data[];
} packet_t;

/* From one node to another one. */
typedef struct {
    packet_t *first, *last; /* in the order of their times */
    uint64_t delay_ns;
    bool is_cut;
} line_t;

typedef struct {
    int namespace, device;
} node_t;

static node_t nodes[NODES_MAX];
static line_t lines[NODES_MAX][NODES_MAX];
static int count;

static void usage(FILE* out) {
    fputs("usage: delay_router NODES (1 to 16), then lines \"FROM TO MICROSECONDS|cut\" on stdin\n",
          out);
}

static void fail(const char* what) {
    fprintf(stderr, "delay_router: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void configure(int by, unsigned long request, struct ifreq* what) {
    if (ioctl(by, request, what) != 0) fail("cannot configure a device");
}

static void set_up(int by, const char* name) {
    struct ifreq device = {0};
    strcpy(device.ifr_name, name);
    configure(by, SIOCGIFFLAGS, &device);
    device.ifr_flags |= IFF_UP;
    configure(by, SIOCSIFFLAGS, &device);
}

static void set_address(int by, struct ifreq* device, unsigned long request, uint32_t address) {
    const struct sockaddr_in value = {.sin_family = AF_INET, .sin_addr = {htonl(address)}};
    memcpy(&device->ifr_addr, &value, sizeof value);
    configure(by, request, device);
}

/* Leaves this process in the namespace of the node. */
static node_t make_node(int number) {
    if (unshare(CLONE_NEWNET) != 0) fail("cannot make a network namespace");
    node_t node = {.namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC),
                   .device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)};
    if (node.namespace < 0) fail("/proc/self/ns/net");
    if (node.device < 0) fail("/dev/net/tun");
    struct ifreq device = {.ifr_name = "tun0"};
    device.ifr_flags = IFF_TUN | IFF_NO_PI;
    configure(node.device, TUNSETIFF, &device);
    const int by = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (by < 0) fail("no socket");
    set_up(by, "lo");
    set_address(by, &device, SIOCSIFADDR, NETWORK + (uint32_t)number + 1);
    set_address(by, &device, SIOCSIFNETMASK, 0xffffff00);
    device.ifr_qlen = QUEUE_PACKETS;
    configure(by, SIOCSIFTXQLEN, &device);
    set_up(by, "tun0");
    close(by);
    return node;
}

/* The node that an IPv4 packet goes to, or -1. */
static int destination(const uint8_t* packet, size_t bytes) {
    if (bytes < 20 || packet[0] >> 4 != 4) return -1;
    uint32_t address;
    memcpy(&address, packet + 16, sizeof address);
    const uint32_t number = ntohl(address) - NETWORK;
    return number >= 1 && number <= (uint32_t)count ? (int)number - 1 : -1;
}

static void enqueue(line_t* line, const uint8_t* data, size_t bytes) {
    packet_t* packet = malloc(sizeof *packet + bytes);
    if (!packet) fail("a packet");
    packet->next = NULL;
    packet->bytes = bytes;
    packet->due_ns = now_ns() + line->delay_ns;
    memcpy(packet->data, data, bytes);
    if (!line->first) {
        line->first = packet;
    } else {
        /* Where the delay has become shorter, it waits for those before it. */
        if (packet->due_ns < line->last->due_ns) packet->due_ns = line->last->due_ns;
        line->last->next = packet;
    }
    line->last = packet;
}

static void take_from(int from) {
    static uint8_t data[PACKET_BYTES_MAX];
    for (int i = 0; i < BATCH; i++) {
        const ssize_t bytes = read(nodes[from].device, data, sizeof data);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (bytes < 0) fail("reading from a device");
        const int to = destination(data, (size_t)bytes);
        if (to < 0) continue;
        line_t* line = &lines[from][to];
        if (!line->is_cut) enqueue(line, data, (size_t)bytes);
    }
}

/* Hands over the packets whose time has come. Returns when the next one is due, or 0. */
static uint64_t deliver(void) {
    uint64_t next_ns = 0;
    for (int from = 0; from < count; from++) {
        for (int to = 0; to < count; to++) {
            line_t* line = &lines[from][to];
            while (line->first && line->first->due_ns <= now_ns()) {
                packet_t* packet = line->first;
                if (write(nodes[to].device, packet->data, packet->bytes) < 0)
                    fail("writing to a device");
                line->first = packet->next;
                free(packet);
            }
            if (line->first && (next_ns == 0 || line->first->due_ns < next_ns))
                next_ns = line->first->due_ns;
        }
    }
    return next_ns;
}

static void obey(const char* command) {
    int from, to;
    char value[20];
    char* end = value;
    if (sscanf(command, "%d %d %19s", &from, &to, value) != 3 || from < 0 || to < 0 ||
        from >= count || to >= count) {
        fprintf(stderr, "delay_router: '%s' is no line FROM TO MICROSECONDS\n", command);
        exit(2);
    }
    line_t* line = &lines[from][to];
    line->is_cut = strcmp(value, "cut") == 0;
    if (!line->is_cut) line->delay_ns = (uint64_t)strtoul(value, &end, 10) * 1000;
    if (!line->is_cut && *end != '\0') {
        fprintf(stderr, "delay_router: '%s' is no time\n", value);
        exit(2);
    }
    printf("ok\n");
    fflush(stdout);
}

/* False at the end of the input. */
static bool take_commands(void) {
    static char text[COMMANDS_BYTES_MAX + 1];
    static size_t length;
    const ssize_t bytes = read(STDIN_FILENO, text + length, COMMANDS_BYTES_MAX - length);
    if (bytes < 0 && errno == EINTR) return true;
    if (bytes <= 0) return false;
    length += (size_t)bytes;
    text[length] = '\0';
    char *start = text, *end;
    for (; (end = strchr(start, '\n')) != NULL; start = end + 1) {
        *end = '\0';
        obey(start);
    }
    length -= (size_t)(start - text);
    memmove(text, start, length);
    return length < COMMANDS_BYTES_MAX;
}

static void carry(void) {
    struct pollfd waited[NODES_MAX + 1] = {{STDIN_FILENO, POLLIN, 0}};
    for (int i = 0; i < count; i++)
        waited[i + 1] = (struct pollfd){nodes[i].device, POLLIN, 0};
    for (;;) {
        const uint64_t next_ns = deliver(), now = now_ns();
        const uint64_t left_ns = next_ns > now ? next_ns - now : 0;
        const struct timespec left = {(time_t)(left_ns / 1000000000), (long)(left_ns % 1000000000)};
        if (ppoll(waited, (nfds_t)count + 1, next_ns ? &left : NULL, NULL) < 0) {
            if (errno == EINTR) continue;
            fail("poll");
        }
        for (int i = 0; i < count; i++)
            if (waited[i + 1].revents) take_from(i);
        if (waited[0].revents && !take_commands()) return;
    }
}

int main(int argc, char** argv) {
    const command_option_t options[] = {{0}};
    count = (int)take_number("NODES", take_options(argc, argv, options, usage), 1, NODES_MAX, true);
    for (int i = 0; i < count; i++)
        nodes[i] = make_node(i);
    /* A packet that waits for this program would be counted as part of the line. */
    prctl(PR_SET_TIMERSLACK, 1);
    const struct sched_param priority = {.sched_priority = 1};
    sched_setscheduler(0, SCHED_FIFO, &priority); /* it works without, less exactly */
    printf("ready");
    for (int i = 0; i < count; i++)
        printf(" %d", nodes[i].namespace);
    printf("\n");
    fflush(stdout);
    carry();
    return 0;
}
