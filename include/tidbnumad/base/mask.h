/* Secrets in command lines. */
#pragma once

#include "tidbnumad/base/text.h"

/* Appends `bytes`, arguments that each end with a NUL, with "***" in place of secrets:
 * - of an option or a variable whose name has passw, passphrase, secret, token, credential, api
 * key, access key or private key in it, in any case (keys with "-", "_" or nothing between): what
 *   follows its "=" or ":", or the next argument;
 * - of a URL: what is before the "@" of its host. */
void mask_arguments(Text *text, const char *bytes, size_t size);
