#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"

/* Of large elements, as sets of CPUs, there is mostly one. */
enum { LARGE_BYTES = 512 };

int array_reserve(void **array, size_t *allocated, size_t need, size_t size) {
        size_t n = *allocated > 0 ? *allocated : size < LARGE_BYTES ? 8 : 1;
        void *p;

        if (need <= *allocated)
                return 0;
        while (n < need) {
                if (n > SIZE_MAX / 2 / size)
                        return -ENOMEM;
                n *= 2;
        }
        p = reallocarray(*array, n, size);
        if (!p)
                return -ENOMEM;
        memset((char *)p + *allocated * size, 0, (n - *allocated) * size);
        *array = p;
        *allocated = n;
        return 0;
}

int array_insert(void **array, size_t *n, size_t *allocated, size_t index, const void *element,
                 size_t size) {
        char *at;

        if (array_reserve(array, allocated, *n + 1, size) < 0)
                return -ENOMEM;
        at = (char *)*array + index * size;
        memmove(at + size, at, (*n - index) * size);
        memcpy(at, element, size);
        (*n)++;
        return 0;
}

void array_remove(void *array, size_t *n, size_t index, size_t size) {
        char *at = (char *)array + index * size;

        (*n)--;
        memmove(at, at + size, (*n - index) * size);
        memset((char *)array + *n * size, 0, size);
}

void array_drop(void *array, size_t *n, const void *pointer) {
        void **pointers = array;

        for (size_t i = *n; i > 0; i--)
                if (pointers[i - 1] == pointer)
                        array_remove(array, n, i - 1, sizeof(pointers[0]));
}
