/* election.pml - a model of elections by an outside store (src/election/), for spin.
 *
 * Three members, of which one is the primary of term 1, and a store that does each transaction in one step,
 * at any time after it was asked for. Answers may be lost: who wants to know reads. A member stops, seals,
 * takes the next term by the seals of two; a primary writes, others pull, commit, report; one is killed. No
 * clock is in it: each member may think at any time that the primary is gone, and a primary of an earlier term
 * may go on. An entry is the term that wrote it; entries of one term stand in one order in all logs.
 *
 * -DTERMS=n    so many terms at most;  -DENTRIES=n so many writes beside the terms' first entries
 * -DCRASHES=n  so many kills;          -DMISTAKE=n one of the mistakes below, which spin has to find
 *
 *   1  E2   a member seals, and follows on
 *   2  E4   seals of a majority are enough, whatever their positions
 *   3  E5   a primary goes on after a restart
 *   4  E1   an election does not compare the term
 *   5  E8a  a primary counts what its journal has not
 *   6  E6   a process does not read its own seal
 *   7  E8a  a member reports what its journal has not
 *   8  E11  a renewal does not compare the term
 *
 * Mistakes that need three terms (positions without their terms, entries or reports of earlier ones) have
 * too many states here: the random schedules find them.
 */

#ifndef TERMS
#define TERMS 2
#endif
#ifndef ENTRIES
#define ENTRIES 0
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef MISTAKE
#define MISTAKE 0
#endif

#define N 3
#define NO_MEMBER 3
#define LOG (TERMS + ENTRIES)            /* the longest log */
#define AT(m, i) log[(m) * LOG + (i)]
#define WON(t, i) won_log[(t) * LOG + (i)]
#define LAST(m) (size[m] == 0 -> 0 : log[(m) * LOG + size[m] - 1])

/* the store */
byte store_term = 1, store_primary = 0, store_start = 0;
bool sealed_in_store[N];                 /* the present term; with the position */
byte seal_term[N], seal_size[N];

/* members; what a kill leaves: the first dur entries, and known */
byte log[N * LOG], size[N], dur[N], known[N];
bool up[N];
byte start[N], term[N], sealed[N], leads[N], follows[N];
byte has[N * N];                         /* has[p * N + m]: what p believes to be in m's journal */

/* under way: one seal and one report at a time */
byte seal_of = NO_MEMBER, seal_sent, seal_sent_start, seal_sent_term, seal_sent_size;
byte report_of = NO_MEMBER, report_to, report_term, report_size;

byte crashes, writes;

/* what must hold */
byte acked[LOG], acked_len, acked_by[LOG];
bool has_won[TERMS + 1];
byte won_size[TERMS + 1], won_log[(TERMS + 1) * LOG];

byte m, p, i, count;

inline lead(t)
{
    assert(!has_won[t]);
    has_won[t] = true;
    term[m] = t;
    leads[m] = t;
    follows[m] = NO_MEMBER;
    i = 0;
    do
    :: i < N -> has[m * N + i] = 0; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < acked_len ->
        assert(acked_by[i] >= t || (size[m] > i && AT(m, i) == acked[i]));
        i++
    :: else -> break
    od;
    won_size[t] = size[m];
    i = 0;
    do
    :: i < size[m] -> WON(t, i) = AT(m, i); i++
    :: else -> break
    od;
    assert(size[m] < LOG);
    AT(m, size[m]) = t;
    size[m]++;
    i = 0
}

/* what a majority has, as m knows it */
inline acknowledge()
{
    count = (MISTAKE == 5 -> size[m] : dur[m]);
    /* the middle one of three */
    i = (has[m * N + (m + 1) % N] > has[m * N + (m + 2) % N] -> (m + 1) % N : (m + 2) % N);
    p = has[m * N + i];
    i = has[m * N + (3 - m - i)];
    if
    :: count > p -> count = p
    :: count < i -> count = i
    :: else
    fi;
    if
    :: count > 0 && AT(m, count - 1) == leads[m] ->
        i = 0;
        do
        :: i < count ->
            if
            :: i < acked_len -> assert(acked[i] == AT(m, i))
            :: else -> acked[i] = AT(m, i); acked_by[i] = leads[m]; acked_len = i + 1
            fi;
            p = leads[m] + 1;
            do
            :: p <= TERMS ->
                assert(!has_won[p] || (won_size[p] > i && WON(p, i) == AT(m, i)));
                p++
            :: else -> break
            od;
            i++
        :: else -> break
        od
    :: else
    fi;
    i = 0; count = 0; p = 0
}

/* m reads the store */
inline look()
{
    if
    :: leads[m] != 0 && store_term == term[m]
    :: store_term < term[m]
    :: else ->
        if
        :: store_term > term[m] ->
            term[m] = store_term;
            leads[m] = 0;
            follows[m] = NO_MEMBER
        :: else
        fi;
        if
        :: sealed_in_store[m] && MISTAKE != 6 -> sealed[m] = store_term; follows[m] = NO_MEMBER
        :: else
        fi;
        if
        :: sealed[m] == term[m]
        :: else ->
            if
            :: store_primary == m && (store_start == start[m] || MISTAKE == 3) ->
                if
                :: MISTAKE != 3 || !has_won[store_term] -> lead(store_term)
                :: else -> if
                    :: MISTAKE == 3 -> leads[m] = store_term
                    :: else
                    fi
                fi
            :: store_primary == m && store_start != start[m] && MISTAKE != 3
            :: store_primary != m -> follows[m] = store_primary
            fi
        fi
    fi
}

inline choose_member()
{
    if
    :: m = 0
    :: m = 1
    :: m = 2
    fi
}

/* whether the seals there are let m take the next term */
#define NOT_BEYOND(x) (MISTAKE == 2 || seal_term[x] < LAST(m) || \
    (seal_term[x] == LAST(m) && seal_size[x] <= size[m]))
#define COUNTS(x) (sealed_in_store[x] && NOT_BEYOND(x))

active proctype set()
{
    atomic {
        m = 0;
        do
        :: m < N -> up[m] = true; term[m] = 1; known[m] = 1; follows[m] = 0; m++
        :: else -> break
        od;
        m = 0; store_start = 1; start[0] = 1; start[1] = 1; start[2] = 1;
        follows[0] = NO_MEMBER;
        lead(1)
    }
    do
    :: atomic { choose_member();
        if
        /* a write */
        :: up[m] && leads[m] != 0 && writes < ENTRIES ->
            writes++; AT(m, size[m]) = leads[m]; size[m]++
        /* an entry is pulled, and what is in its place goes */
        :: up[m] && leads[m] == 0 && follows[m] != NO_MEMBER && up[follows[m]] && leads[follows[m]] == term[m] ->
            p = follows[m];
            i = 0;
            do
            :: i < size[m] && i < size[p] && AT(m, i) == AT(p, i) -> i++
            :: else -> break
            od;
            if
            :: i < size[m] ->
                if
                :: dur[m] > i -> dur[m] = i
                :: else
                fi;
                do
                :: size[m] > i -> size[m]--; AT(m, size[m]) = 0
                :: else -> break
                od
            :: else -> skip
            fi;
            if
            :: i < size[p] -> AT(m, i) = AT(p, i); size[m] = i + 1
            :: else -> skip
            fi;
            i = 0; p = 0
        /* a commit */
        :: up[m] && dur[m] < size[m] ->
            dur[m] = size[m];
            if
            :: leads[m] != 0 -> acknowledge()
            :: else
            fi
        /* a report, when the place in the primary's log is known */
        :: up[m] && leads[m] == 0 && follows[m] != NO_MEMBER && up[follows[m]] && leads[follows[m]] == term[m] &&
           report_of == NO_MEMBER ->
            p = follows[m];
            count = (MISTAKE == 7 -> size[m] : dur[m]);
            i = 0;
            do
            :: i < count && i < size[p] && AT(m, i) == AT(p, i) -> i++
            :: else -> break
            od;
            if
            :: i == count && count > has[p * N + m] ->
                report_of = m; report_to = p; report_term = term[m]; report_size = count
            :: else -> skip
            fi;
            i = 0; p = 0; count = 0
        /* it comes */
        :: report_of == m ->
            report_of = NO_MEMBER;
            p = report_to;
            if
            :: up[p] && leads[p] != 0 && leads[p] == report_term ->
                if
                :: has[p * N + m] < report_size && report_size <= size[p] -> has[p * N + m] = report_size
                :: else
                fi;
                m = p;
                acknowledge()
            :: else -> skip
            fi;
            report_to = 0; report_term = 0; report_size = 0; p = 0
        /* it leaves its term, with all in its journal */
        :: up[m] && sealed[m] < term[m] ->
            leads[m] = 0;
            if
            :: MISTAKE != 1 -> follows[m] = NO_MEMBER
            :: else
            fi;
            sealed[m] = term[m]; dur[m] = size[m]; known[m] = term[m];
            if
            :: seal_of == NO_MEMBER ->
                seal_of = m; seal_sent = term[m]; seal_sent_start = start[m];
                seal_sent_term = LAST(m); seal_sent_size = size[m]
            :: store_term == term[m] && !sealed_in_store[m] ->
                sealed_in_store[m] = true; seal_term[m] = LAST(m); seal_size[m] = size[m]
            :: else -> skip
            fi
        /* a seal comes to the store: of this process only */
        :: seal_of == m ->
            if
            :: seal_sent == store_term && seal_sent_start == start[m] && !sealed_in_store[m] ->
                sealed_in_store[m] = true; seal_term[m] = seal_sent_term; seal_size[m] = seal_sent_size
            :: else -> skip
            fi;
            seal_of = NO_MEMBER; seal_sent = 0; seal_sent_start = 0; seal_sent_term = 0; seal_sent_size = 0
        /* an election */
        :: up[m] && leads[m] == 0 && sealed[m] == term[m] && term[m] < TERMS && store_term < TERMS &&
           (store_term == term[m] || MISTAKE == 4) &&
           (MISTAKE == 4 || (sealed_in_store[m] && (COUNTS((m + 1) % N) || COUNTS((m + 2) % N)))) ->
            store_term = term[m] + 1; store_primary = m; store_start = start[m];
            i = 0;
            do
            :: i < N -> sealed_in_store[i] = false; seal_term[i] = 0; seal_size[i] = 0; i++
            :: else -> break
            od;
            i = 0
        /* a primary goes on in the next term */
        :: up[m] && leads[m] != 0 && leads[m] < TERMS &&
           (sealed[(m + 1) % N] == leads[m] || sealed[(m + 2) % N] == leads[m]) &&
           ((store_term == leads[m] && store_primary == m) || MISTAKE == 8) ->
            store_term = leads[m] + 1; store_primary = m; store_start = start[m];
            i = 0;
            do
            :: i < N -> sealed_in_store[i] = false; seal_term[i] = 0; seal_size[i] = 0; i++
            :: else -> break
            od;
            i = 0
        /* it reads the store */
        :: up[m] && (store_term > term[m] || (leads[m] == 0 && sealed[m] < term[m] && follows[m] == NO_MEMBER &&
            store_primary != m)) ->
            look()
        /* a kill, and a start */
        :: up[m] && crashes < CRASHES ->
            crashes++;
            up[m] = false;
            do
            :: size[m] > dur[m] -> size[m]--; AT(m, size[m]) = 0
            :: else -> break
            od;
            leads[m] = 0; follows[m] = NO_MEMBER; sealed[m] = 0; term[m] = known[m]
        :: !up[m] ->
            up[m] = true; start[m]++;
            i = 0;
            do
            :: i < N -> has[m * N + i] = 0; i++
            :: else -> break
            od;
            i = 0;
            look()
        :: else -> skip
        fi;
        m = 0
    }
    od
}
