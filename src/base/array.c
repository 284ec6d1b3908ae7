/* Growing of plain arrays. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tidbnumad/base/array.h"

int array_reserve(void **array, size_t *allocated, size_t need, size_t size) {
        size_t n = *allocated > 0 ? *allocated : 8;
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
