/* journal.pml - a model of commit, flush, removal of journal files and recovery, for spin.
 *
 * One bucket of an index lies in two sectors, x and y. An insert at a low position moves what is in x on
 * into y and changes x; one at a high position changes y alone. The bucket is seen in three places: the
 * private view (writers), the shared view (the page cache: a kill leaves it, a power cut does not) and the
 * disk, to which the kernel may write either sector of the shared view whenever it likes.
 *
 * Writers write, commits put sections into the journal, a flush brings the shared view to the disk and
 * removes journal files, a truncation (fsync with lock, dropDatabase) removes all of them. A kill or a power
 * cut comes at any step, also of the recovery that follows, CRASHES times. Then the disk must show the state
 * after some commit, and one that is not older than the last acknowledged one. The data file may be closed,
 * when all is committed and stored; then the bucket at that address is one of another file, which no section
 * has written yet.
 *
 * -DFLUSH     pages that commits have changed are stored by a flush (dataFileWrites: flush), J24 to J26
 * -DENTRIES   an insert into a bucket that the file knows is journaled as an entry, J21 to J23
 * -DMISTAKE=n one of the mistakes below, which spin has to find
 *
 *   1  J10  the shared view gets a section before the journal has it on the device
 *   2  J13  a waiter is notified after the write, before the sync
 *   3  J5   a flush counts what was applied when it ended, not when it began
 *   4  J5   a flush removes journal files without having waited for the disk
 *   5  J6   files are removed from the newest downwards
 *   6  J7   recovery removes the journal before the data files are on the disk
 *   7       recovery replays a section that no one has synced
 *   8  J16  private copies are dropped while a write is pending
 *   9  J24  a section counts as applied when its pages are noted (FLUSH)
 *  10  J26  private copies are dropped while pages are not stored (FLUSH)
 *  11  J26  a truncation does not store what is noted (FLUSH)
 *  12  J22  what a file knows is still known in the next one (ENTRIES)
 *  13  J21  an entry is written for a bucket of which only y is known (ENTRIES)
 *  14  J8   recovery leaves out what the shared view had when the lsn file was written
 *  15  J25  a page is stored before the journal has what was written to it last (FLUSH)
 *  16  J25  a page that was copied is stored over what was stored later (FLUSH)
 *  17  J24  what was noted while pages were stored counts as applied with them (FLUSH)
 *  18  J22  what is known of a bucket is still known when its data file was closed (ENTRIES)
 */

#ifndef WRITES
#define WRITES 4
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef MISTAKE
#define MISTAKE 0
#endif
#ifdef ENTRIES
#define AS_ENTRIES true
#else
#define AS_ENTRIES false
#endif
#define PER_FILE 2          /* sections that a journal file holds */
#define FILES (WRITES + 2)
#define NONE 255
#define OTHER 100           /* in both sectors of a file that comes to the address of one that was closed */

typedef Bucket { byte x; byte y };
Bucket truth;               /* what all writes together make */
Bucket seen;                /* the private view */
Bucket shared;
Bucket disk;
Bucket committed[WRITES + 1];  /* after so many sections */

byte writes = 0;
byte pending = 0;           /* inserts since the last commit, two bits each: 1 low, 2 high */
byte pending_bits = 0;
bool pending_low = false;

/* A section is not there (0), in the file (1), on the device (2). It has bytes or, as an entry, inserts. */
typedef Section { byte state; byte file; bool entry; bool has_x; byte x; byte y; byte inserts };
Section section[WRITES];
byte sections = 0;          /* made ready so far */
byte acknowledged = 0;
byte kept = 0;              /* to be stored into the shared view: sections below this one */
byte applied = 0;           /* are in it, as the journal knows it: sections below this one */
#ifdef FLUSH
bool changed_x = false;     /* noted by a commit */
bool changed_y = false;
bool leaving_x = false;     /* a flush stores them */
bool leaving_y = false;
bool copied_x = false;      /* it has copied them from the private view */
bool copied_y = false;
Bucket copy;
byte copied_writes = 0;     /* so many had been made when it did */
byte leaving = 0;           /* sections below this one have all their pages in `leaving` or stored */
bool storing = false;
bool storing_all = false;
bool prepared_low = false;
byte prepared_writes = 0;
byte journaled_writes = 0;  /* on the device */
#define ALL_STORED (!changed_x && !changed_y && !leaving_x && !leaving_y && !storing_all)
#define NO_R (!storing_all)
#else
byte stored = 0;            /* are in it: sections below this one */
bool half_stored = false;
#define ALL_STORED (stored == kept && !half_stored)
#define NO_R true
#endif

bool exists[FILES];
byte current = 0;           /* the file that is written to */
byte in_current = 0;        /* sections in it */
byte opened = 0;            /* sections below this one are of the data file that was closed */
bool closed = false;
byte known = 0;             /* of the bucket, from this file: 0 nothing, 1 y, 2 both sectors */

mtype = { running, recovering, finished };
mtype mode = running;
byte commit = 0;            /* 0 idle, 1 made ready, 2 written, 3 synced, 4 waiters notified */
byte flush = 0;             /* 0 idle, 1 marked, 2 x on the disk, 3 both */
byte mark = 0;
byte flushes = 0;
byte truncation = 0;        /* 0 none, 1 under way, 2 x on the disk, 3 both, 4 never again */
byte recovery = 0;          /* 0 begun, 1 replays, 2 half a section, 3 replayed, 4 x on the disk, 5 removes */
byte replayed = 0;
byte crashes = 0;

byte i = 0;                 /* of loops; 0 outside of them */
byte victim = NONE;
bool ok = false;

#define NO_W (truncation == 0 || truncation == 4)  /* no truncation holds the lock */

/* Both halves of the one way of a section into the shared view, for commits and for recovery (J23). */
inline store_x(n) {
    if
    :: section[n].has_x -> shared.x = section[n].x
    :: else
    fi
}
inline store_rest(n) {
    if
    :: !section[n].entry -> shared.y = section[n].y
    :: else ->
        i = section[n].inserts;
        do
        :: i == 0 -> break
        :: (i & 3) == 1 -> shared.y = shared.x; shared.x++; i = i >> 2
        :: (i & 3) == 2 -> shared.y++; i = i >> 2
        od
    fi
}

/* The lowest file that is there and has no section from `limit` on. */
inline find_victim(limit, also_current) {
    victim = NONE;
    i = 0;
    do
    :: i == FILES -> break
    :: i < FILES ->
        if
        :: exists[i] && (also_current || i < current) && (MISTAKE == 5 || victim == NONE) ->
            victim = i
        :: else
        fi;
        i++
    od;
    i = limit;
    do
    :: i >= sections || victim == NONE -> break
    :: else ->
        if
        :: section[i].state > 0 && section[i].file == victim -> victim = NONE
        :: else -> i++
        fi
    od;
    i = 0
}

inline next_file() {
    current++;
    in_current = 0;
    exists[current] = true;
    if
    :: MISTAKE == 12
    :: else -> known = 0
    fi
}

inline prepare() {
    section[sections].file = current;
    section[sections].entry =
        AS_ENTRIES && (known == 2 || (known == 1 && (!pending_low || MISTAKE == 13)));
    if
    :: section[sections].entry -> section[sections].inserts = pending
    :: else ->
        section[sections].has_x = pending_low;
        section[sections].x = (pending_low -> seen.x : 0);
        section[sections].y = seen.y;
        known = (pending_low -> 2 : (known == 0 -> 1 : known))
    fi;
#ifdef FLUSH
    prepared_low = pending_low;
    prepared_writes = writes;
#endif
    pending = 0;
    pending_bits = 0;
    pending_low = false;
    if
    :: MISTAKE == 1 -> store_x(sections); store_rest(sections)
    :: else
    fi;
    sections++;
    committed[sections].x = truth.x;
    committed[sections].y = truth.y
}

/* What is on the disk after a recovery is the state after a commit that was acknowledged last or later. */
inline check() {
    ok = false;
    i = acknowledged;
    do
    :: i > sections -> break
    :: else ->
        ok = ok || (disk.x == committed[i].x && disk.y == committed[i].y);
        i++
    od;
    i = 0;
    assert(ok)
}

active proctype server() {
    d_step {
        truth.x = 1; seen.x = 1; shared.x = 1; disk.x = 1; committed[0].x = 1;
        exists[0] = true
    };
    do
    /* A writer: a whole operation. None while a truncation holds W. */
    :: atomic { mode == running && NO_R && writes < WRITES && NO_W ->
        writes++;
        if
        :: seen.y = seen.x; seen.x++; truth.y = truth.x; truth.x++;
           pending = pending | (1 << pending_bits); pending_low = true
        :: seen.y++; truth.y++; pending = pending | (2 << pending_bits)
        fi;
        pending_bits = pending_bits + 2 }

    /* A commit. */
    :: d_step { mode == running && NO_R && commit == 0 && pending != 0 && NO_W ->
        prepare(); commit = 1 }
    :: d_step { mode == running && commit == 1 ->
        section[sections - 1].state = 1; in_current++; commit = 2;
        if
        :: MISTAKE == 2 -> acknowledged = sections
        :: else
        fi }
    :: d_step { mode == running && commit == 2 ->
        section[sections - 1].state = 2; commit = 3;
        if
        :: in_current == PER_FILE -> next_file()
        :: else
        fi }
#ifdef FLUSH
    /* It notes the pages. */
    :: d_step { mode == running && commit == 3 ->
        acknowledged = sections; kept = sections; commit = 0;
        changed_y = true; changed_x = changed_x || prepared_low;
        journaled_writes = prepared_writes;
        if
        :: MISTAKE == 9 -> applied = kept
        :: else
        fi }

    /* A flush stores them beside commits: it copies them under R, and stores them when the journal
       has all that was written until then. */
    :: d_step { mode == running && NO_R && !storing && commit == 0 && changed_y && NO_W ->
        leaving_x = changed_x; leaving_y = changed_y;
        changed_x = false; changed_y = false;
        leaving = kept; storing = true }
    :: d_step { mode == running && NO_R && leaving_x && !copied_x && NO_W ->
        copy.x = seen.x; copied_x = true; copied_writes = writes }
    :: d_step { mode == running && NO_R && leaving_y && !copied_y && NO_W ->
        copy.y = seen.y; copied_y = true; copied_writes = writes }
    :: d_step { mode == running && NO_R && copied_x &&
                (journaled_writes >= copied_writes || MISTAKE == 15) ->
        shared.x = copy.x; copied_x = false; leaving_x = false }
    :: d_step { mode == running && NO_R && copied_y &&
                (journaled_writes >= copied_writes || MISTAKE == 15) ->
        shared.y = copy.y; copied_y = false; leaving_y = false }
    :: d_step { mode == running && NO_R && storing && !leaving_x && !leaving_y && !copied_x && !copied_y ->
        if
        :: MISTAKE == 17 -> applied = kept
        :: MISTAKE != 17 && leaving > applied -> applied = leaving
        :: else
        fi;
        storing = false }

    /* All pages, under R with everything committed. A flush that has copied some ends. */
    :: d_step { mode == running && !ALL_STORED && NO_R && commit == 0 && pending == 0 && NO_W ->
        shared.x = (changed_x || leaving_x -> seen.x : shared.x); storing_all = true }
    :: d_step { mode == running && storing_all ->
        shared.y = (changed_y || leaving_y -> seen.y : shared.y); storing_all = false;
        changed_x = false; changed_y = false; leaving_x = false; leaving_y = false;
        applied = kept;
        if
        :: MISTAKE != 16 -> storing = false; copied_x = false; copied_y = false
        :: else
        fi }
#else
    :: d_step { mode == running && commit == 3 ->
        acknowledged = sections; kept = sections; commit = 4 }
    /* The shared view gets it. */
    :: d_step { mode == running && commit == 4 && !half_stored ->
        store_x(stored); half_stored = true }
    :: d_step { mode == running && half_stored ->
        store_rest(stored); half_stored = false; stored++; applied = stored; commit = 0 }
#endif

    /* Private copies are dropped, under W. */
    :: d_step { mode == running && NO_R && commit == 0 && NO_W && (pending == 0 || MISTAKE == 8) &&
                (ALL_STORED || MISTAKE == 10) ->
        seen.x = shared.x; seen.y = shared.y }

#ifdef ENTRIES
    /* The data file is closed, under W; another one gets its address. */
    :: d_step { mode == running && NO_R && commit == 0 && NO_W && pending == 0 && ALL_STORED && !closed ->
        closed = true; opened = sections;
        truth.x = OTHER; truth.y = OTHER;
        seen.x = OTHER; seen.y = OTHER;
        shared.x = OTHER; shared.y = OTHER;
        disk.x = OTHER; disk.y = OTHER;
        committed[sections].x = OTHER; committed[sections].y = OTHER;
        if
        :: MISTAKE == 18
        :: else -> known = 0
        fi }
#endif

    /* A flush, beside all of these. */
    :: d_step { mode == running && flush == 0 && flushes < 2 ->
        flushes++; mark = applied; flush = (MISTAKE == 4 -> 3 : 1) }
    :: d_step { mode == running && flush == 1 -> disk.x = shared.x; flush = 2 }
    :: d_step { mode == running && flush == 2 ->
        disk.y = shared.y; flush = 3;
        if
        :: MISTAKE == 3 -> mark = applied
        :: else
        fi }
    :: d_step { mode == running && flush == 3 && NO_W ->
        find_victim(mark, false);
        if
        :: victim != NONE -> exists[victim] = false
        :: else -> flush = 0
        fi;
        victim = NONE }

    /* A truncation of the journal, under W, with all committed. */
    :: d_step { mode == running && NO_R && truncation == 0 && pending == 0 && commit == 0 &&
                (ALL_STORED || MISTAKE == 11) -> truncation = 1 }
    :: d_step { mode == running && truncation == 1 -> disk.x = shared.x; truncation = 2 }
    :: d_step { mode == running && truncation == 2 -> disk.y = shared.y; truncation = 3 }
    :: d_step { mode == running && truncation == 3 ->
        find_victim(sections, true);
        if
        :: victim != NONE -> exists[victim] = false
        :: else -> next_file(); truncation = 4
        fi;
        victim = NONE }

    /* The kernel writes what it likes. */
    :: d_step { mode != finished && disk.x != shared.x -> disk.x = shared.x }
    :: d_step { mode != finished && disk.y != shared.y -> disk.y = shared.y }

    /* The end of a process: the page cache stays, and what was written to the journal. */
    :: d_step { mode != finished && crashes < CRASHES ->
        crashes++; mode = recovering; recovery = 0 }
    /* The end of the power: a section that was written and not synced is there or not. */
    :: atomic { mode != finished && crashes < CRASHES ->
        crashes++; mode = recovering; recovery = 0;
        shared.x = disk.x; shared.y = disk.y;
        if
        :: sections > 0 && section[sections - 1].state == 1 ->
            if
            :: section[sections - 1].state = 0
            :: section[sections - 1].state = 2
            fi
        :: else
        fi }

    /* Recovery. */
    :: d_step { mode == recovering && recovery == 0 ->
        if
        :: MISTAKE != 7 && sections > 0 && section[sections - 1].state == 1 ->
            section[sections - 1].state = 2
        :: else
        fi;
        replayed = (MISTAKE == 14 && applied > opened -> applied : opened); recovery = 1 }
    :: d_step { mode == recovering && recovery == 1 ->
        if
        :: replayed == sections || section[replayed].state == 0 -> recovery = (MISTAKE == 6 -> 5 : 3)
        :: else ->
            if
            :: exists[section[replayed].file] -> store_x(replayed); recovery = 2
            :: else -> replayed++
            fi
        fi }
    :: d_step { mode == recovering && recovery == 2 -> store_rest(replayed); replayed++; recovery = 1 }
    :: d_step { mode == recovering && recovery == 3 -> disk.x = shared.x; recovery = 4 }
    :: d_step { mode == recovering && recovery == 4 ->
        disk.y = shared.y; recovery = (MISTAKE == 6 -> 6 : 5) }
    :: d_step { mode == recovering && recovery == 5 ->
        find_victim(sections, true);
        if
        :: victim != NONE -> exists[victim] = false
        :: else -> recovery = (MISTAKE == 6 -> 3 : 6)
        fi;
        victim = NONE }
    :: d_step { mode == recovering && recovery == 6 -> check(); mode = finished }
    :: mode == finished -> break
    od
}
