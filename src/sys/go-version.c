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

int go_version_parse(GoFileRead read, void *userdata, GoVersion *ret) {
        static const char devel[] = "devel ";
        GoFile file = { .read = read, .userdata = userdata };
        const Elf64_Ehdr *h = &file.header;
        char text[VERSION_MAX] = "", name[sizeof(SECTION)];
        Elf64_Shdr sections[SECTIONS_MAX];
        unsigned char start[INFO_POINTERS];
        uint64_t at, address, string[2];
        const char *p = text;
        uint8_t length;
        GoVersion v;
        size_t i = 0;

        if (!read_whole(&file, 0, &file.header, sizeof(file.header)) ||
            memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
            h->e_ident[EI_DATA] != HOST_DATA || h->e_shentsize != sizeof(Elf64_Shdr) ||
            h->e_shnum == 0 || h->e_shnum > SECTIONS_MAX || h->e_shstrndx >= h->e_shnum ||
            !read_whole(&file, h->e_shoff, sections, h->e_shnum * sizeof(sections[0])))
                return -ENODATA;
        while (i < h->e_shnum && (sections[i].sh_type != SHT_PROGBITS ||
                                  __builtin_add_overflow(sections[h->e_shstrndx].sh_offset,
                                                         sections[i].sh_name, &at) ||
                                  !read_whole(&file, at, name, sizeof(name)) ||
                                  memcmp(name, SECTION, sizeof(name)) != 0))
                i++;
        if (i == h->e_shnum)
                return -ENODATA;
        at = sections[i].sh_offset;
        if (sections[i].sh_size < INFO_STRINGS || at > INT64_MAX - INFO_STRINGS ||
            !read_whole(&file, at, start, sizeof(start)) ||
            memcmp(start, MAGIC, sizeof(MAGIC) - 1) != 0)
                return -ENODATA;
        if (start[INFO_FLAGS] & FLAG_INLINE) {
                /* The length is a varint: one of a version has one byte. */
                if (!read_whole(&file, at + INFO_STRINGS, &length, sizeof(length)) ||
                    length >= VERSION_MAX ||
                    !read_whole(&file, at + INFO_STRINGS + 1, text, length))
                        return -ENODATA;
        } else if ((start[INFO_FLAGS] & FLAG_BIG_ENDIAN) != HOST_ORDER ||
                   start[INFO_POINTER_SIZE] != sizeof(uint64_t) ||
                   /* Go's string: a pointer and a length. */
                   !read_whole(&file, at + INFO_POINTERS, &address, sizeof(address)) ||
                   !find_address(&file, address, &at) ||
                   !read_whole(&file, at, string, sizeof(string)) || string[1] >= VERSION_MAX ||
                   !find_address(&file, string[0], &at) || !read_whole(&file, at, text, string[1]))
                return -ENODATA;
        /* "go1.21.3", "go1.25rc1", "devel go1.26-4a3b2c1 …" */
        if (strncmp(p, devel, strlen(devel)) == 0)
                p += strlen(devel);
        if (strncmp(p, "go", 2) != 0)
                return -ENODATA;
        p += 2;
        if (!take_number(&p, &v.major) || *p++ != '.' || !take_number(&p, &v.minor))
                return -ENODATA;
        *ret = v;
        return 0;
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
        fd = path_open(handle->dir_fd, O_RDONLY | O_NONBLOCK | O_NOCTTY, "exe");
        if (fd < 0)
                return proc_error(fd);
        if (fstat(fd, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? go_version_parse(read_fd, &fd, ret) : -ENODATA;
}

bool go_version_follows_cpus(const GoVersion *version) {
        return version->major > 1 || (version->major == 1 && version->minor >= 25);
}
