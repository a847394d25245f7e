/* A client by EPICS Base's own libca that counts updates: what our engine is compared with.
 *
 *   libca PREFIX COUNT SECONDS    monitors PREFIX0…, and prints updates and processor seconds once all have had their first
 */
#include <cadef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile unsigned long updates, known;
static volatile double last;

static void updated(struct event_handler_args args) {
    unsigned char *seen = args.usr;
    if (args.status != ECA_NORMAL || !args.dbr)
        return;
    known += !*seen;
    *seen = 1;
    last = ((const struct dbr_time_double *)args.dbr)->value;
    updates++;
}

static double seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    unsigned long count = strtoul(argv[2], NULL, 10), i;
    unsigned char *seen = calloc(count, 1);
    SEVCHK(ca_context_create(ca_enable_preemptive_callback), "context");
    for (i = 0; i < count; i++) {
        char name[100];
        chid channel;
        snprintf(name, sizeof name, "%s%lu", argv[1], i);
        SEVCHK(ca_create_channel(name, NULL, NULL, 0, &channel), name);
        SEVCHK(ca_create_subscription(DBR_TIME_DOUBLE, 1, channel, DBE_VALUE | DBE_ALARM, updated, &seen[i], NULL), name);
    }
    ca_flush_io();
    for (i = 0; i < 600 && known < count; i++)
        usleep(100000);
    unsigned long before = updates;
    double cpu = seconds();
    usleep((useconds_t)(atof(argv[3]) * 1e6));
    printf("%lu %lu %.6f\n", known, updates - before, seconds() - cpu);
    fflush(stdout);
    _exit(known < count);
}
