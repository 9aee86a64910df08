"""One run of perf/insert_latency.c or perf/insert_latency.py: how long each of a client's single
inserts takes with a write concern."""

import json
import os
import statistics
import subprocess
import sys

import experiment
import measuring


def command_of(client, running, concern, count, seconds_max, clients):
    program = ([os.path.join(experiment.PROGRAMS, 'insert_latency')] if client == 'C' else
               [sys.executable, os.path.join(measuring.TOP, 'perf', 'insert_latency.py')])
    program += ['--clients', str(clients)] if client == 'C' else []
    return program + ['--uri', running.uri, '--concern', concern, '--seconds-max',
                      str(seconds_max), str(count)]


def run(running, client, concern, count, seconds_max=3600, clients=1):
    before = measuring.cpu_seconds(running.pid)[0]
    found = json.loads(subprocess.run(
        command_of(client, running, concern, count, seconds_max, clients),
        stdout=subprocess.PIPE, check=True).stdout)
    cpu = measuring.cpu_seconds(running.pid)[0] - before
    latencies = found['latencies_us']
    found.update(server_cpu_us=1e6 * cpu / found['inserts'], mean_us=statistics.mean(latencies),
                 least_us=min(latencies), most_us=max(latencies),
                 p50_us=statistics.median(latencies))
    return found
