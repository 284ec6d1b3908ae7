/* The commands and options of tidbnumactl in one table, for the parser, --help and hints. */
#pragma once

#include <stddef.h>

#include "tidbnumad/base/text.h"
#include "tidbnumad/ctl/args.h"

typedef struct OptionRow {
        const char *name;     /* "policy-dir" */
        const char *argument; /* "DIR"; NULL: it takes no argument */
        size_t field;         /* offset in Args: of a string, of a bool without an argument */
        unsigned commands;    /* bits 1 << Command: the commands that accept it */
        const char *help;     /* lines, separated by newlines */
} OptionRow;

size_t options_rows(const OptionRow **ret);

typedef struct CommandRow {
        const char *name;
        const char *arguments; /* "[FILE…]"; "" for none */
        const char *summary;   /* one line */
        const char *text;      /* description, whole lines */
        const char *examples;  /* whole lines, indented */
} CommandRow;

const CommandRow *options_command(Command command);

/* All of it, or that of one command. */
void options_append_help(Text *text);
void options_append_command_help(Command command, Text *text);

/* The commands that accept an option: "plan and explain". Returns `buffer`. */
#define OPTIONS_COMMANDS_MAX 128u
const char *options_commands_of(const OptionRow *row, char buffer[static OPTIONS_COMMANDS_MAX]);
