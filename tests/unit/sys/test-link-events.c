/* Which messages of rtnetlink make us look at interrupts. */
#include <errno.h>
#include <string.h>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../support/test.h"

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/network.h"

typedef struct Message {
        _Alignas(struct nlmsghdr) char bytes[512];
} Message;

static struct nlmsghdr *head(Message *m) {
        return (struct nlmsghdr *)m->bytes;
}

static void begin(Message *m, uint16_t type) {
        memset(m, 0, sizeof(*m));
        head(m)->nlmsg_type = type;
        head(m)->nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg));
}

/* Where `content` is NULL, of so many bytes that follow later. */
static struct rtattr *add(Message *m, unsigned short type, const char *content, size_t size) {
        struct rtattr *a = (struct rtattr *)(m->bytes + NLMSG_ALIGN(head(m)->nlmsg_len));

        a->rta_type = type;
        a->rta_len = (unsigned short)RTA_LENGTH(size);
        if (content)
                memcpy(RTA_DATA(a), content, size);
        head(m)->nlmsg_len =
                NLMSG_ALIGN(head(m)->nlmsg_len) + (content ? a->rta_len : RTA_LENGTH(0));
        return a;
}

static bool counts(const Message *m) {
        return link_event_counts(m->bytes, ((const struct nlmsghdr *)m->bytes)->nlmsg_len);
}

static void card(Message *m) {
        begin(m, RTM_NEWLINK);
        (void)add(m, IFLA_IFNAME, "eth0", 5);
        (void)add(m, IFLA_MTU, "1234", 4);
}

/* A link of software, as a veth or a bridge is. */
static void software(Message *m, unsigned short flag) {
        card(m);
        (void)add(m, IFLA_LINKINFO | flag, NULL, RTA_LENGTH(5));
        (void)add(m, IFLA_INFO_KIND, "veth", 5);
}

TEST(cards) {
        Message m;

        card(&m);
        assert_true(counts(&m));
        head(&m)->nlmsg_type = RTM_DELLINK;
        assert_true(counts(&m));
        card(&m); /* a card in a bond is of no kind, but of a slave's */
        (void)add(&m, IFLA_LINKINFO, NULL, RTA_LENGTH(5));
        (void)add(&m, IFLA_INFO_SLAVE_KIND, "bond", 5);
        assert_true(counts(&m));
}

TEST(software) {
        Message m;

        software(&m, 0);
        assert_false(counts(&m));
        software(&m, NLA_F_NESTED);
        assert_false(counts(&m));
        head(&m)->nlmsg_type = RTM_DELLINK;
        assert_false(counts(&m));
        head(&m)->nlmsg_type = NLMSG_OVERRUN; /* something was lost */
        assert_true(counts(&m));
}

/* Cut off anywhere, or of wrong lengths: it counts, and nothing behind its end is read. */
TEST(broken) {
        Message m;
        size_t size;

        software(&m, 0);
        size = head(&m)->nlmsg_len;
        for (size_t n = 0; n < size; n++) {
                char *exact = malloc(n + 1);

                assert_non_null(exact);
                memcpy(exact, m.bytes, n);
                assert_true(link_event_counts(exact, n));
                free(exact);
        }
        head(&m)->nlmsg_len = (uint32_t)size + 1;
        assert_true(link_event_counts(m.bytes, size));
        head(&m)->nlmsg_len = 3;
        assert_true(link_event_counts(m.bytes, size));
        for (size_t at = NLMSG_LENGTH(sizeof(struct ifinfomsg)); at < size; at++) {
                software(&m, 0);
                m.bytes[at] = (char)0xff;
                (void)link_event_counts(m.bytes, size);
        }
}

/* One that counts among those that do not. */
TEST(drain) {
        int fds[2];
        Message m;

        assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        assert_false(link_events_drain(fds[0]));
        software(&m, 0);
        assert_true(send(fds[1], m.bytes, head(&m)->nlmsg_len, 0) > 0);
        assert_false(link_events_drain(fds[0]));
        assert_true(send(fds[1], m.bytes, head(&m)->nlmsg_len, 0) > 0);
        card(&m);
        assert_true(send(fds[1], m.bytes, head(&m)->nlmsg_len, 0) > 0);
        software(&m, 0);
        assert_true(send(fds[1], m.bytes, head(&m)->nlmsg_len, 0) > 0);
        assert_true(link_events_drain(fds[0]));
        assert_false(link_events_drain(fds[0])); /* all of it was read */
        closep(&fds[0]);
        closep(&fds[1]);
}

TEST(open) {
        int fd = -EBADF;

        if (link_events_open(&fd) < 0)
                skip();
        (void)link_events_drain(fd);
        closep(&fd);
}
