/* Threads that fault pages when they are told to. To be included once, after cmocka.h. */
#pragma once

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGES = 300 };

typedef struct Worker {
        pthread_t thread;
        int orders[2], answers[2]; /* pipes */
        pid_t tid;
} Worker;

static inline void fault(void) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                abort();
        (void)madvise(memory, size, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < size; i += page)
                ((volatile char *)memory)[i] = 1;
        (void)munmap(memory, size);
}

static inline void *work(void *argument) {
        Worker *w = argument;
        char order;

        w->tid = (pid_t)syscall(SYS_gettid); /* glibc has a function for it since 2.30 */
        if (write(w->answers[1], "+", 1) != 1)
                abort();
        while (read(w->orders[0], &order, 1) == 1) {
                fault();
                if (write(w->answers[1], "+", 1) != 1)
                        abort();
        }
        return NULL;
}

static inline void await(Worker *w) {
        char answer;

        assert_int_equal(read(w->answers[0], &answer, 1), 1);
}

static inline void start(Worker *w) {
        assert_int_equal(pipe(w->orders), 0);
        assert_int_equal(pipe(w->answers), 0);
        assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
        await(w);
}

static inline void tell(Worker *w) {
        assert_int_equal(write(w->orders[1], "!", 1), 1);
        await(w);
}

static inline void stop(Worker *w) {
        (void)close(w->orders[1]);
        assert_int_equal(pthread_join(w->thread, NULL), 0);
        (void)close(w->orders[0]);
        (void)close(w->answers[0]);
        (void)close(w->answers[1]);
}

static inline void start_all(Worker *workers, size_t n) {
        for (size_t i = 0; i < n; i++)
                start(&workers[i]);
}

static inline void stop_all(Worker *workers, size_t n) {
        for (size_t i = 0; i < n; i++)
                stop(&workers[i]);
}
