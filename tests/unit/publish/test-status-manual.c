/* The manual names each key of status.json: its argument is tidbnumactl(8). */

#include "../../support/test.h"

#include "tidbnumad/publish/status.h"

static const char *manual;

/* The part about the command status, on which each key stands as a word. */
static void read_manual(Text *ret) {
        FILE *f = fopen(manual, "re");
        char line[1024];
        bool in = false;

        assert_non_null(f);
        while (fgets(line, sizeof(line), f)) {
                if (strncmp(line, ".It Cm ", 7) == 0)
                        in = strcmp(line, ".It Cm status\n") == 0;
                if (in && strstr(line, "Va "))
                        text_append(ret, line);
        }
        (void)fclose(f);
        assert_true(ret->length > 0);
}

static bool has_word(const char *text, const char *word) {
        const size_t n = strlen(word);

        for (const char *at = text; (at = strstr(at, word)); at += n)
                if (at[-1] == ' ' && (at[n] == ' ' || at[n] == '\n'))
                        return true;
        return false;
}

static unsigned count_missing(const char *text, const FieldTable *table) {
        unsigned n = 0;

        for (const Field *f = table->fields; f < table->fields + table->n_fields; f++) {
                if (f->key && !has_word(text, f->key)) {
                        print_error("%s does not name %s\n", manual, f->key);
                        n++;
                }
                if (f->of)
                        n += count_missing(text, f->of);
        }
        return n;
}

TEST(each_key_is_there) {
        _cleanup_text_ Text text = { 0 };

        read_manual(&text);
        assert_int_equal(count_missing(text.data, &snapshot_fields), 0);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        manual = argv[1];
        return test_run_all();
}
