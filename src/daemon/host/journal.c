/* The daemon's log. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define SD_JOURNAL_SUPPRESS_LOCATION /* the fields below say where a message belongs */
#include <systemd/sd-journal.h>

#include "tidbnumad/base/utf8.h"
#include "tidbnumad/daemon/host/journal.h"

/* systemd tells in JOURNAL_STREAM= which file stderr is, systemd.exec(5). */
static bool stderr_is_the_journal(void) {
        const char *stream = getenv("JOURNAL_STREAM");
        uintmax_t device, inode;
        struct stat st;

        return stream && sscanf(stream, "%" SCNuMAX ":%" SCNuMAX, &device, &inode) == 2 &&
               fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void journal_init(Journal *journal, bool debug) {
        *journal = (Journal){
                .to_journal = stderr_is_the_journal(),
                .max_priority = debug ? LOG_DEBUG : LOG_INFO,
        };
}

/* One field; `storage` keeps its text until it was sent. Names and command lines, which are in the
 * values, come from processes. */
static void add_field(struct iovec *fields, int *n, Text *storage, const char *name,
                      const char *value) {
        if (!value)
                return;
        text_appendf(storage, "%s=", name);
        text_append_printable(storage, value);
        if (storage->error >= 0)
                fields[(*n)++] =
                        (struct iovec){ .iov_base = storage->data, .iov_len = storage->length };
}

static int send_to_journal(int priority, const JournalFields *f, const char *message) {
        char number[2] = { (char)('0' + (priority & 7)), '\0' };
        const char *const names[] = { "MESSAGE",          "PRIORITY",
                                      "MESSAGE_ID",       "TIDBNUMAD_INSTANCE",
                                      "TIDBNUMAD_POLICY", "TIDBNUMAD_REASON",
                                      "SYSLOG_IDENTIFIER" };
        const char *const values[] = {
                message,     number,    f->message_id,
                f->instance, f->policy, f->reason ? reason_to_string(f->reason) : NULL,
                "tidbnumad"
        };
        struct iovec fields[ELEMENTSOF(names)];
        Text storage[ELEMENTSOF(names)] = { 0 };
        int n = 0, r;

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                add_field(fields, &n, &storage[i], names[i], values[i]);
        r = sd_journal_sendv(fields, n);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                text_done(&storage[i]);
        return r;
}

void journal_log(const Journal *journal, int priority, const JournalFields *fields,
                 const char *format, ...) {
        static const JournalFields none = { 0 };
        _cleanup_free_ char *message = NULL;
        _cleanup_text_ Text line = { 0 };
        va_list args;
        int n;

        if (priority > journal->max_priority)
                return;
        va_start(args, format);
        n = vasprintf(&message, format, args);
        va_end(args);
        if (n < 0) {
                message = NULL;
                return;
        }
        if (journal->to_journal && send_to_journal(priority, fields ? fields : &none, message) >= 0)
                return;
        text_append_printable(&line, message);
        if (line.error >= 0)
                (void)fprintf(stderr, "%s\n", line.data ? line.data : "");
}
