/* Strict parsing of numbers, sizes and times: the whole text must be the value. */
#pragma once

#include <stdint.h>

/* Decimal, no sign, no white space. -EINVAL: not a number; -ERANGE: too large. */
int parse_u64(const char *text, uint64_t *ret);

/* A number (decimals allowed: "1.5GiB") with a unit that is required: B, KiB, MiB, GiB, TiB (powers
 * of 1024) or kB, MB, GB, TB (powers of 1000). -EINVAL: no number or no known unit; -ERANGE. */
int parse_size(const char *text, uint64_t *ret_bytes);

/* A number with a unit that is required: us, ms, s, min, h. -EINVAL, -ERANGE as above. */
int parse_duration(const char *text, uint64_t *ret_usec);

/* A number with its "%", in parts per million. -EINVAL, -ERANGE as above. */
int parse_percent(const char *text, uint64_t *ret_ppm);

/* The number behind the first `key` in the text of a file of the kernel, white space between them:
 * "\nPPid:" of "PPid:\t17". The key must begin with a character that occurs before no other key,
 * such as the newline. -EBADMSG: there is no number, or it is too large. The second one is for
 * "RssAnon: 12 kB", and returns bytes. */
int parse_field(const char *text, const char *key, uint64_t *ret);
int parse_kib_field(const char *text, const char *key, uint64_t *ret_bytes);
