/* The daemon's log: to the journal with fields when systemd runs us, else to stderr. */
#pragma once

#include <stdbool.h>
#include <syslog.h>

#include "tidbnumad/base/cleanup.h"

/* MESSAGE_ID= of what operators filter for; listed in tidbnumad(8). */
#define JOURNAL_BOUND "8b1f8b4f6a0c4d0ab5a4a4a1b3a4f6d1"
#define JOURNAL_PARTLY "2f6a1d2c8c7e4a2f9a1e7c6d5b4a3f22"
#define JOURNAL_REFUSED "c1d7a5b0f1c24b7e8d3b2a1908f7e633"
#define JOURNAL_POLICY_REFUSED "5e0c9d8b7a6f4e5d9c4b3a2f1e0d4c44"
#define JOURNAL_POLICY_LOADED "7d3e2f1a0b9c4d8ea7f6e5d4c3b2a155"
#define JOURNAL_PREPARED "6b1e0f9d2c3a4f5e8a7b9c0d1e2f3a77"
#define JOURNAL_EVENTS_LOST "9a8b7c6d5e4f4a3b8c2d1e0f9a8b7c66"

typedef struct Journal {
        bool to_journal;
        int max_priority; /* LOG_INFO, or LOG_DEBUG with --debug */
} Journal;

/* What a message is about; all may be NULL. */
typedef struct JournalFields {
        const char *message_id;
        const char *instance; /* TIDBNUMAD_INSTANCE= */
        const char *policy;   /* TIDBNUMAD_POLICY= */
} JournalFields;

void journal_init(Journal *journal, bool debug);

void journal_log(const Journal *journal, int priority, const JournalFields *fields,
                 const char *format, ...) _printf_(4, 5);
