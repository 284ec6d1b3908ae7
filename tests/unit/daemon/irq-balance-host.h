/* An irqbalance that answers as the test says, for tests of the daemon that talks to it. */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "../../support/test.h"

#include "../../support/child-process.h"
#include "../../support/fake-tree.h"
#include "capture.h"
#include "rooms.h"
#include "tidbnumad/daemon/interrupts/irq.h"
#include "tidbnumad/sys/clock.h"

#define SECOND UINT64_C(1000000)
#define NONE "SLEEP 10 BANNED 00000000"

static uint64_t now_usec;

uint64_t __wrap_clock_monotonic_usec(void);

uint64_t __wrap_clock_monotonic_usec(void) {
        return now_usec;
}

/* The daemon looks in the folder of the test. */
static const char *folder;

int __real_irqbalance_find(const Sysroot *sysroot, const char *folder, pid_t *ret_pid);
int __wrap_irqbalance_find(const Sysroot *sysroot, const char *folder, pid_t *ret_pid);
int __wrap_irqbalance_find(const Sysroot *sysroot, _unused_ const char *theirs, pid_t *ret_pid) {
        return __real_irqbalance_find(sysroot, folder, ret_pid);
}

int __real_irqbalance_send(const char *folder, pid_t pid, const char *command, int *ret_fd);
int __wrap_irqbalance_send(const char *folder, pid_t pid, const char *command, int *ret_fd);
int __wrap_irqbalance_send(_unused_ const char *theirs, pid_t pid, const char *command,
                           int *ret_fd) {
        return __real_irqbalance_send(folder, pid, command, ret_fd);
}

typedef struct TestHost {
        FakeTree tree;
        char folder[64];
        int fd; /* the server's */
        int client;
        Args args;
        Rooms m;
        IrqPolicy policy;
        Interrupts *irq;
        IrqbalanceFacts facts;
        char log[16384]; /* the journal */
} TestHost;

/* How often the journal has it. */
static inline unsigned n_logged(const TestHost *h, const char *text) {
        unsigned n = 0;

        for (const char *at = h->log; (at = strstr(at, text)); at++)
                n++;
        return n;
}

/* The journal of a statement is added to that of the host. */
#define LOGGED(h, statement)                                                                       \
        do {                                                                                       \
                Capture c;                                                                         \
                CAPTURE_STDERR(&c, statement);                                                     \
                assert_true(strlen((h)->log) + strlen(c.text) < sizeof((h)->log));                 \
                (void)strcat((h)->log, c.text);                                                    \
        } while (0)

static inline void bind_server(TestHost *h, pid_t pid) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const int on = 1;

        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/irqbalance%d.sock",
                       h->folder, pid);
        h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(h->fd >= 0);
        assert_int_equal(bind(h->fd, (const struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(setsockopt(h->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
        fake_process(&h->tree, pid, 1, "/usr/sbin/irqbalance", "/system.slice/x", "0-7");
        fake_write(&h->tree, fmt("proc/%d/comm", pid), "irqbalance\n");
}

static inline void unbind_server(TestHost *h, pid_t pid) {
        closep(&h->fd);
        fake_remove(&h->tree, fmt("run/irqbalance%d.sock", pid));
}

static inline void no_bad_file(const char *name, int error, void *userdata) {
        (void)error;
        (void)userdata;
        fail_msg("%s", name);
}

static inline void begin(TestHost *h) {
        undo_init(&h->m.undo.records, &h->tree.sysroot);
        assert_int_equal(undo_open(&h->m.undo.records, h->tree.fd), 0);
        assert_int_equal(undo_load(&h->m.undo.records, no_bad_file, NULL), 0);
        h->m.host.policies.mode = ENFORCEMENT_OBSERVE; /* so that irqbalance is not asked yet */
        assert_int_equal(irq_start(&h->m.host, &h->m.registry, &h->m.placing, &h->m.undo, &h->irq),
                         0);
        h->m.host.policies.mode = ENFORCEMENT_ENFORCE;
}

static inline void end(TestHost *h) {
        h->irq = irq_free(h->irq);
        undo_done(&h->m.undo.records);
}

static inline void host_init(TestHost *h) {
        now_usec = 5000 * SECOND;
        *h = (TestHost){ .args.once = true, .client = -EBADF }; /* no device, and no event of one */
        fake_init(&h->tree);
        fake_mkdir(&h->tree, "run");
        (void)snprintf(h->folder, sizeof(h->folder), "%s/run", h->tree.path);
        folder = h->folder;
        bind_server(h, getpid());
        assert_int_equal(listen(h->fd, 1), 0);
        h->m = (Rooms){ .host.args = &h->args,
                        .host.sysroot = h->tree.sysroot,
                        .host.journal = { .max_priority = LOG_INFO } };
        rooms_wire(&h->m);
        h->m.host.sysroot.live = true;
        h->m.host.policies.irqs = &h->policy;
        h->m.host.policies.n_irqs = 1;
        assert_int_equal(sd_event_new(&h->m.host.event), 0);
        begin(h);
}

static inline void host_done(TestHost *h) {
        closep(&h->client);
        end(h);
        irqbalance_facts_done(&h->facts);
        sd_event_unref(h->m.host.event);
        closep(&h->fd);
        fake_done(&h->tree);
}
#define _cleanup_host_ _cleanup_(host_done)
#define HOST_TEST(test) TEST_WITH(test, TestHost, h, host_init, host_done)

/* --- the server --- */

/* The next command; "": there is none. Its connection is `client`. */
static const char *received(TestHost *h) {
        static char buffer[20000];
        ssize_t n;

        closep(&h->client);
        h->client = accept4(h->fd, NULL, NULL, SOCK_CLOEXEC);
        if (h->client < 0)
                return "";
        n = recv(h->client, buffer, sizeof(buffer), 0);
        assert_true(n > 0 && buffer[n - 1] == '\0');
        return buffer;
}

static inline void read_facts(TestHost *h) {
        irqbalance_facts_done(&h->facts);
        LOGGED(h, irq_balance_read(h->irq, &h->facts));
}

/* As irqbalance does it: it answers and closes. Then the daemon's loop runs and reads the facts
 * again. */
static inline void answer(TestHost *h, const char *text) {
        assert_int_equal(send(h->client, text, strlen(text), 0), strlen(text));
        closep(&h->client);
        h->client = -EBADF;
        LOGGED(h, while (sd_event_run(h->m.host.event, 0) > 0));
        read_facts(h);
}

/* It is found, asked, and answers. */
static inline void meet(TestHost *h, const char *setup) {
        read_facts(h);
        assert_string_equal(received(h), "setup");
        answer(h, setup);
}

static inline void tell(TestHost *h, const char *cpus, uint32_t *irqs, size_t n_irqs) {
        const IrqPlanBalance wanted = { .sent = true,
                                        .banned_cpus = cpu_set(cpus),
                                        .banned_irqs = irqs,
                                        .n_banned_irqs = n_irqs };

        LOGGED(h, irq_balance_send(h->irq, &wanted));
}

static inline void tell_nothing(TestHost *h) {
        const IrqPlanBalance wanted = { 0 };

        LOGGED(h, irq_balance_send(h->irq, &wanted));
}

static inline void restore(TestHost *h) {
        LOGGED(h, (void)irq_balance_restore(h->irq));
}

static inline void assert_reported(TestHost *h, const char *cpus, const char *irqs) {
        assert_string_equal(received(h), fmt("settings cpus %s", cpus));
        assert_string_equal(received(h), fmt("settings ban irqs %s", irqs));
        assert_string_equal(received(h), "");
}

static inline bool has_record(const TestHost *h) {
        return faccessat(h->tree.fd, "undo/" UNDO_HOST_FILE, F_OK, 0) == 0;
}

static uint32_t two[] = { 24, 25 };
