/* The daemon's log: to the journal with fields when systemd runs the daemon, else to stderr.
 * Logging never waits: a line that is not accepted at once is lost. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>
#include <systemd/sd-event.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/model/reason.h"

/* MESSAGE_ID= of messages for which operators filter; listed in tidbnumad(8). */
#define JOURNAL_BOUND "8b1f8b4f6a0c4d0ab5a4a4a1b3a4f6d1"
#define JOURNAL_PARTLY "2f6a1d2c8c7e4a2f9a1e7c6d5b4a3f22"
#define JOURNAL_REFUSED "c1d7a5b0f1c24b7e8d3b2a1908f7e633"
#define JOURNAL_POLICY_REFUSED "5e0c9d8b7a6f4e5d9c4b3a2f1e0d4c44"
#define JOURNAL_POLICY_LOADED "7d3e2f1a0b9c4d8ea7f6e5d4c3b2a155"
#define JOURNAL_PREPARED "6b1e0f9d2c3a4f5e8a7b9c0d1e2f3a77"
#define JOURNAL_REVOKED "0d5c1f3a7be94c0f8e6a2b9d41c75e18"
#define JOURNAL_RELEASED "3c9e7a51d2b84f60a7c15e8b4d2f9077"
#define JOURNAL_WIDENED "3d0f5a7c9b1e4c62a8f4d6b2e7c19a88"
#define JOURNAL_NODE_FULL "4e8b2c6d1f3a4d57b9e05c7a8d2f6b99"
#define JOURNAL_DRIFT "1b7e4d9a6c0f4285b3d8e2f7a5c19d44"
#define JOURNAL_MOVING "b47c0e92d6a1458f9e35c1b08d7f2a10"
#define JOURNAL_MOVED "0d5e8a31c7f94b26a8e1f6439b2c7d58"
#define JOURNAL_IRQ_STEERED "5c81d0f3a2be47c69d1e30b7f4a8c206"
#define JOURNAL_IRQ_CHANGED "e07b4c92d5f6413fa8b12c6d93e0f417"
#define JOURNAL_IRQ_CONTESTED "7a3fd8e6102b4c95b4d0e1f62c8a9b38"
#define JOURNAL_IRQ_FAILED "f29c61b70d8e4a53962f7be4c01d5a49"
#define JOURNAL_EVENTS_LOST "9a8b7c6d5e4f4a3b8c2d1e0f9a8b7c66"

/* Messages about the instances of one policy, or about none, within a minute; and those of one
 * kind, which is a place in the source, that a process of any user can cause. Whoever starts
 * processes in a loop causes some of them for each; journald drops all messages of a service that
 * sends more than 10,000 in 30 s (journald.conf(5), RateLimitBurst=), and with them those of
 * others' instances. A host starts fewer servers of a policy at once than the second number, so
 * that each of their messages is logged. */
enum { JOURNAL_LINES_MAX = 1000, JOURNAL_KIND_MAX = 16, JOURNAL_LIMITS = 128 };

typedef struct JournalLimit {
        uint64_t key; /* of a policy, or of a policy and a kind */
        uint64_t until_usec;
        unsigned n, n_left_out;
        char policy[64];
        char last[160]; /* of a kind: the last message that was left out */
} JournalLimit;

typedef struct Journal {
        bool to_journal;      /* else to stderr */
        int fd;               /* socket to journald, if `to_journal` */
        const char *path;     /* of journald's socket */
        int max_priority;     /* LOG_INFO, or LOG_DEBUG with --debug */
        JournalLimit *limits; /* JOURNAL_LIMITS of them; borrowed; NULL: none */
} Journal;

/* Subject of a message; all pointers may be NULL. */
typedef struct JournalFields {
        const char *message_id;
        const char *instance; /* TIDBNUMAD_INSTANCE= */
        const char *policy;   /* TIDBNUMAD_POLICY= */
        Reason reason;        /* TIDBNUMAD_REASON=, its word */
        bool repeats; /* any user can cause it again and again; always true of what has an instance
                         or a policy */
} JournalFields;

/* Sets no limits: the caller may add them. */
void journal_init(Journal *journal, bool debug);
void journal_done(Journal *journal);

/* Logs how many messages were left out in the minutes that are over. Call it each few seconds. */
void journal_tell_left_out(const Journal *journal);

/* Errors are never left out. Of notices and warnings that any user can cause, JOURNAL_KIND_MAX with
 * this format are logged within a minute for each policy. */
void journal_log(const Journal *journal, int priority, const JournalFields *fields,
                 const char *format, ...) _printf_(4, 5);

/* State and watchdog pings for the service manager, see sd_notify(3). sd_notify() itself waits
 * while the socket is full: the manager may be busy, and any user may write to its socket. Here
 * nothing waits: a state that could not be sent is sent again until it is accepted, and a watchdog
 * ping that could not be sent is followed by the next one. */

/* All zeroes: there is no service manager to notify. */
typedef struct Notifier {
        char *path; /* of the manager's socket; '@' begins an abstract one; NULL: none; owned */
        sd_event *event; /* borrowed */
        int fd;          /* with `path` */
        char *pending;   /* the state that was not taken yet; owned */
        sd_event_source *retry, *watchdog;
        uint64_t ping_usec;
} Notifier;

/* Takes the socket from the environment. */
void notify_init(Notifier *notifier, sd_event *event);
void notify_done(Notifier *notifier);

/* "READY=1\nSTATUS=…". */
void notify_state(Notifier *notifier, const char *format, ...) _printf_(2, 3);

/* Sends watchdog pings from the loop, if the service manager has enabled the watchdog. */
int notify_start_watchdog(Notifier *notifier);
