/* A server that is preloaded with this (LD_PRELOAD) asks the disk for nothing: its syncs say that
 * they are done and do nothing. tests/crash/blocks/run.py must see that something is lost.
 */
int fsync(int fd);
int fdatasync(int fd);

int fsync(int fd) {
    (void)fd;
    return 0;
}

int fdatasync(int fd) {
    (void)fd;
    return 0;
}
