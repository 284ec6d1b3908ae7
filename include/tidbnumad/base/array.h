/* Growing of plain arrays; the element count stays with the caller. */
#pragma once

#include <stddef.h>

/* Makes room for at least `need` elements of `size` bytes. `*array` is a malloc'ed block of
 * `*allocated` elements (both may be NULL/0); new elements are zeroed. Grows by doubling.
 * Returns 0, or -ENOMEM with everything as it was. */
int array_reserve(void **array, size_t *allocated, size_t need, size_t size);

#define ARRAY_RESERVE(array, allocated, need)                                                      \
        array_reserve((void **)&(array), &(allocated), (need), sizeof((array)[0]))
