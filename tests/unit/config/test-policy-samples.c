/* The samples, which the schema is judged by too: the good ones load, the others are refused with
 * the one message that their first line tells. */
#include <dirent.h>

#include "load-support.h"

static const char *samples;

static void read_file(const char *path, char *text, size_t size) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");

        assert_non_null(file);
        text[fread(text, 1, size - 1, file)] = '\0';
}

static unsigned each(const char *folder, void (*judge)(const char *name, const char *text)) {
        static char text[1 << 16];
        char path[4096];
        struct dirent *entry;
        unsigned n = 0;

        (void)snprintf(path, sizeof(path), "%s/%s", samples, folder);
        _cleanup_closedir_ DIR *dir = opendir(path);
        assert_non_null(dir);
        while ((entry = readdir(dir))) {
                if (entry->d_name[0] == '.')
                        continue;
                (void)snprintf(path, sizeof(path), "%s/%s/%s", samples, folder, entry->d_name);
                read_file(path, text, sizeof(text));
                judge(entry->d_name, text);
                n++;
        }
        return n;
}

static void judge_good(const char *name, const char *text) {
        _cleanup_load_ Load load = load_text(text);

        if (load.result < 0)
                fail_msg("%s: %s", name, load.errors.messages[0]);
}

static void judge_bad(const char *name, const char *text) {
        const char *end = strchr(text, '\n');
        _cleanup_load_ Load load = load_text(text);
        char expected[1024];

        assert_non_null(end);
        (void)snprintf(expected, sizeof(expected), "a.yaml:%.*s", (int)(end - text - 2), text + 2);
        if (load.result == 0)
                fail_msg("%s: was taken", name);
        if (load.errors.n_messages != 1)
                fail_msg("%s: one message more: %s", name, load.errors.messages[1]);
        assert_string_equal(load.errors.messages[0], expected);
}

TEST(good) {
        assert_true(each("good", judge_good) >= 6);
}

TEST(bad) {
        assert_true(each("bad", judge_bad) >= 20);
}

TEST(contradictory) {
        assert_true(each("contradictory", judge_bad) >= 12);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        samples = argv[1];
        return test_run_all();
}
