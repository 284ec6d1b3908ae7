/* The shortest process: what a storm is made of. Linked statically, it costs the host little more
 * than what the kernel does for it. */
int main(void) {
        return 0;
}
