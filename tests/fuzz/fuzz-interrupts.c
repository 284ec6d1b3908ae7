/* /proc/interrupts with any content: names lie in the text, and there is a counter for each cell.
 */
#include <errno.h>

#include "fuzz.h"
#include "tidbnumad/sys/irq.h"

static void check_line(const char *text, const InterruptTable *in, size_t i) {
        const InterruptLine *line = &in->lines[i];
        volatile uint32_t sum = 0;

        check(line->names >= text && line->names + line->names_length <= text + strlen(text));
        check(!memchr(line->names, '\n', line->names_length));
        check(line->counts == in->counts + i * in->n_cpus);
        for (size_t k = 0; k < in->n_cpus; k++) /* for the sanitizer */
                sum += line->counts[k] + in->cpus[k];
        (void)sum;
        (void)interrupts_find(in, line->irq);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_interrupts_ InterruptTable in = { 0 };
        char *text = fuzz_text(data, size);
        int r;

        if (!text)
                return 0;
        r = interrupts_parse(text, &in);
        check(r == 0 || r == -EBADMSG || r == -EAGAIN);
        check(r == 0 ? in.n_cpus > 0 : in.n_cpus == 0 && !in.cpus && !in.lines);
        for (size_t i = 0; i < in.n_lines; i++)
                check_line(text, &in, i);
        free(text);
        return 0;
}
