#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "tidbnumad/base/cleanup.h"
#include "tidbnumad/sys/go-version.h"

/* A program by Go has some 25 sections and 10 segments, one that links C somewhat more. */
enum { SECTIONS_MAX = 128, SEGMENTS_MAX = 64, VERSION_MAX = 64 };

enum { FLAG_BIG_ENDIAN = 1 << 0, FLAG_INLINE = 1 << 1 };

/* Of a host with the other byte order, or of 32 bits, is no TiDB. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { HOST_DATA = ELFDATA2LSB, HOST_ORDER = 0 };
#else
enum { HOST_DATA = ELFDATA2MSB, HOST_ORDER = FLAG_BIG_ENDIAN };
#endif

#define SECTION ".go.buildinfo"
#define MAGIC "\xff Go buildinf:"

/* debug/buildinfo: the magic, the size of a pointer, flags. From Go 1.18 on the strings follow
 * behind 32 bytes, each with its length before it; before, pointers to two strings of Go do. */
enum { INFO_POINTER_SIZE = 14, INFO_FLAGS = 15, INFO_POINTERS = 16, INFO_STRINGS = 32 };

typedef struct GoFile {
        GoFileRead read;
        void *userdata;
        Elf64_Ehdr header;
} GoFile;

static bool read_whole(const GoFile *file, uint64_t offset, void *buffer, size_t size) {
        return offset <= INT64_MAX - size &&
               file->read(offset, buffer, size, file->userdata) == (ssize_t)size;
}

static bool read_header(GoFile *file) {
        const Elf64_Ehdr *h = &file->header;

        return read_whole(file, 0, &file->header, sizeof(file->header)) &&
               memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
               h->e_ident[EI_DATA] == HOST_DATA && h->e_shentsize == sizeof(Elf64_Shdr) &&
               h->e_shnum > 0 && h->e_shnum <= SECTIONS_MAX && h->e_shstrndx < h->e_shnum;
}

static bool is_named(const GoFile *file, const Elf64_Shdr *names, const Elf64_Shdr *section) {
        char name[sizeof(SECTION)];
        uint64_t at;

        return !__builtin_add_overflow(names->sh_offset, section->sh_name, &at) &&
               read_whole(file, at, name, sizeof(name)) && memcmp(name, SECTION, sizeof(name)) == 0;
}

static bool find_section(const GoFile *file, Elf64_Shdr *ret) {
        Elf64_Shdr sections[SECTIONS_MAX];
        const size_t n = file->header.e_shnum;

        if (!read_whole(file, file->header.e_shoff, sections, n * sizeof(sections[0])))
                return false;
        for (size_t i = 0; i < n; i++)
                if (sections[i].sh_type == SHT_PROGBITS &&
                    is_named(file, &sections[file->header.e_shstrndx], &sections[i])) {
                        *ret = sections[i];
                        return true;
                }
        return false;
}

/* Where in the file is what the program has at this address? */
static bool find_address(const GoFile *file, uint64_t address, uint64_t *ret) {
        Elf64_Phdr segments[SEGMENTS_MAX];
        const size_t n = file->header.e_phnum;

        if (file->header.e_phentsize != sizeof(segments[0]) || n > SEGMENTS_MAX ||
            !read_whole(file, file->header.e_phoff, segments, n * sizeof(segments[0])))
                return false;
        for (size_t i = 0; i < n; i++) {
                const Elf64_Phdr *s = &segments[i];

                if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
                    address - s->p_vaddr < s->p_filesz)
                        return !__builtin_add_overflow(s->p_offset, address - s->p_vaddr, ret);
        }
        return false;
}

/* Go's string: a pointer and a length. */
static bool read_pointed(const GoFile *file, const Elf64_Shdr *section, char *text) {
        uint64_t address, string[2], at;

        return read_whole(file, section->sh_offset + INFO_POINTERS, &address, sizeof(address)) &&
               find_address(file, address, &at) && read_whole(file, at, string, sizeof(string)) &&
               string[1] < VERSION_MAX && find_address(file, string[0], &at) &&
               read_whole(file, at, text, string[1]);
}

/* The length is a varint: one of a version has one byte. */
static bool read_inline(const GoFile *file, const Elf64_Shdr *section, char *text) {
        const uint64_t at = section->sh_offset + INFO_STRINGS;
        uint8_t length;

        return read_whole(file, at, &length, sizeof(length)) && length < VERSION_MAX &&
               read_whole(file, at + 1, text, length);
}

static bool read_version(const GoFile *file, const Elf64_Shdr *section, char *text) {
        unsigned char start[INFO_POINTERS];

        if (section->sh_size < INFO_STRINGS || section->sh_offset > INT64_MAX - INFO_STRINGS ||
            !read_whole(file, section->sh_offset, start, sizeof(start)) ||
            memcmp(start, MAGIC, sizeof(MAGIC) - 1) != 0)
                return false;
        if (start[INFO_FLAGS] & FLAG_INLINE)
                return read_inline(file, section, text);
        return (start[INFO_FLAGS] & FLAG_BIG_ENDIAN) == HOST_ORDER &&
               start[INFO_POINTER_SIZE] == sizeof(uint64_t) && read_pointed(file, section, text);
}

static bool take_number(const char **text, uint32_t *ret) {
        uint32_t n = 0;
        const char *p = *text;

        while (*p >= '0' && *p <= '9' && n < 10000)
                n = n * 10 + (uint32_t)(*p++ - '0');
        if (p == *text || n >= 10000)
                return false;
        *text = p;
        *ret = n;
        return true;
}

/* "go1.21.3", "go1.25rc1", "devel go1.26-4a3b2c1 …" */
static int parse_version(const char *text, GoVersion *ret) {
        static const char devel[] = "devel ";
        GoVersion v;

        if (strncmp(text, devel, strlen(devel)) == 0)
                text += strlen(devel);
        if (strncmp(text, "go", 2) != 0)
                return -ENODATA;
        text += 2;
        if (!take_number(&text, &v.major) || *text++ != '.' || !take_number(&text, &v.minor))
                return -ENODATA;
        *ret = v;
        return 0;
}

int go_version_parse(GoFileRead read, void *userdata, GoVersion *ret) {
        GoFile file = { .read = read, .userdata = userdata };
        char text[VERSION_MAX] = "";
        Elf64_Shdr section;

        if (!read_header(&file) || !find_section(&file, &section) ||
            !read_version(&file, &section, text))
                return -ENODATA;
        return parse_version(text, ret);
}

static ssize_t read_fd(uint64_t offset, void *buffer, size_t size, void *userdata) {
        const int *fd = userdata;
        const ssize_t n = pread(*fd, buffer, size, (off_t)offset);

        return n < 0 ? -errno : n;
}

int go_version_read(const ProcHandle *handle, GoVersion *ret) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (!handle->live)
                return -ENODATA; /* the link of a dump leads to a file of this host */
        fd = openat(handle->dir_fd, "exe", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return proc_error(-errno);
        if (fstat(fd, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? go_version_parse(read_fd, &fd, ret) : -ENODATA;
}

bool go_version_follows_cpus(const GoVersion *version) {
        return version->major > 1 || (version->major == 1 && version->minor >= 25);
}
