/* The key reference of tidbnumad.d(5), from the table of keys. */
#pragma once

#include "tidbnumad/base/text.h"

/* Appends troff source (man macros), from the first .SS to the last key. */
void policy_reference_render(Text *text);
