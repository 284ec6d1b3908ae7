/* Growing plain arrays, inserting and removing elements, and searching sorted ones. */
#pragma once

#include <stddef.h>

/* Makes room for at least `need` elements of `size` bytes. `*array` is a malloc'ed block of
 * `*allocated` elements (both may be NULL/0); new elements are zeroed. Grows by doubling.
 * Returns 0, or -ENOMEM with everything as it was. */
int array_reserve(void **array, size_t *allocated, size_t need, size_t size);

#define ARRAY_RESERVE(array, allocated, need)                                                      \
        array_reserve((void **)&(array), &(allocated), (need), sizeof((array)[0]))

/* Inserts a copy of `element` at `index` into the `n` elements. 0, or -ENOMEM as above. */
int array_insert(void **array, size_t *n, size_t *allocated, size_t index, const void *element,
                 size_t size);

#define ARRAY_INSERT(array, n, allocated, index, element)                                          \
        ({                                                                                         \
                const __typeof__((array)[0]) *_element = (element);                                \
                array_insert((void **)&(array), &(n), &(allocated), (index), _element,             \
                             sizeof((array)[0]));                                                  \
        })

/* Closes the gap of the element at `index`, which the caller has disposed of. */
void array_remove(void *array, size_t *n, size_t index, size_t size);

#define ARRAY_REMOVE(array, n, index) array_remove((array), &(n), (index), sizeof((array)[0]))

/* Removes `pointer` from the `n` pointers, if it is one of them. */
void array_drop(void *array, size_t *n, const void *pointer);

#define ARRAY_DROP(array, n, pointer) array_drop((array), &(n), (pointer))

/* In ascending order: the index of the first of `n` elements for which `is_less` is false; `n` if
 * there is none. `is_less` is an expression in `index`. */
#define ARRAY_LOWER_BOUND(n, index, is_less)                                                       \
        ({                                                                                         \
                size_t _low = 0, _high = (n);                                                      \
                while (_low < _high) {                                                             \
                        const size_t index = _low + (_high - _low) / 2;                            \
                        if (is_less)                                                               \
                                _low = index + 1;                                                  \
                        else                                                                       \
                                _high = index;                                                     \
                }                                                                                  \
                _low;                                                                              \
        })
