/* A record of what stood before, with any content. */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/change/record.h"
#include "tidbnumad/change/setting.h"
#include "tidbnumad/change/undo.h"

/* What is taken can be written, and is then taken as the same. */
static void check_record(const UndoRecord *record) {
        UndoRecord *again = NULL;
        char *text = NULL, *other = NULL, path[SETTING_TEXT_MAX];
        size_t size, other_size;

        for (size_t i = 0; i < record->n_processes; i++)
                for (pid_t tid = 0; tid < 100; tid++)
                        (void)undo_process_mask(&record->processes[i], tid, 1000);
        for (size_t i = 0; i < record->n_settings;
             i++) /* each could be written where it came from */
                check(setting_path(&record->settings[i].key, path) == 0 && !strstr(path, ".."));
        check(undo_text_render(record, &text, &size) == 0);
        check(undo_text_parse(text, size, &again) == 0);
        check(undo_text_render(again, &other, &other_size) == 0);
        check(size == other_size && memcmp(text, other, size) == 0);
        free(text);
        free(other);
        undo_record_free(again);
}

static void parse_starts(const char *text, size_t size) {
        UndoStarts starts = { 0 };

        if (undo_starts_parse(text, size, &starts) == 0)
                for (size_t i = 0; i < starts.n; i++)
                        check(!id_set_is_empty(&starts.cpus[i]));
        undo_starts_done(&starts);
}

static void parse(const char *text, size_t size) {
        UndoRecord *record = NULL;
        int r = undo_text_parse(text, size, &record);

        parse_starts(text, size);
        if (r == 0)
                check_record(record);
        else
                check(!record && (r == -EBADMSG || r == -ENOTSUP || r == -ENOMEM));
        undo_record_free(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        parse((const char *)data, size);
        return 0;
}
