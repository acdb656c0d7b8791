#!/usr/bin/python3
"""Best states of drover and of toulbar2 side by side: score, proof and seconds per instance and time limit.

    bench/map/compare.py MODEL.uai[.gz]... [--seconds 1 10 60] [--core N] [--drover build/bin/drover] [--json FILE]

toulbar2 (Debian package) runs when it is installed: as it comes, and with its variable neighbourhood search; both
programs on one thread, one after the other. drover's limit is the clock, toulbar2's the processor's time: that is the
same only for a program that has a core. --core N gives it one by real-time priority (as root; `chrt`, `taskset`),
whatever else the machine does. Shown are the seconds by the clock and those of the processor. Scores are natural logarithms
of the product of the factors, worked out here from the states that the programs return. A file MODEL.uai.evid
beside a model is its evidence.
"""
import argparse
import gzip
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time


def tokens_of(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as file:
        return file.read().split()


class Model:
    def __init__(self, path):
        tokens = iter(tokens_of(path))
        next(tokens)
        count = int(next(tokens))
        self.cardinalities = [int(next(tokens)) for _ in range(count)]
        self.scopes = []
        for _ in range(int(next(tokens))):
            self.scopes.append([int(next(tokens)) for _ in range(int(next(tokens)))])
        self.tables = [[next(tokens) for _ in range(int(next(tokens)))] for _ in self.scopes]

    def log_score(self, state):
        total = 0.0
        for scope, table in zip(self.scopes, self.tables):
            at = 0
            for v in scope:
                at = at * self.cardinalities[v] + state[v]
            value = float(table[at])
            if value <= 0:
                return -math.inf
            total += math.log(value)
        return total


def run_drover(before, program, model, evidence, seconds, extra):
    command = before + [program, "map", model, "--time", str(seconds), "--threads", "1", "--json", "--quiet"] + extra
    if evidence:
        command += ["--evidence", evidence]
    start = time.time()
    run = subprocess.run(command, capture_output=True, text=True)
    took = time.time() - start
    if run.returncode != 0:
        return None, False, took, run.stderr.strip()
    answer = json.loads(run.stdout)
    return answer["assignment"], answer["optimal"], took, answer.get("upper")


def run_toulbar2(before, plain, variables, evidence, seconds, extra):
    with tempfile.TemporaryDirectory() as folder:
        solution = os.path.join(folder, "state")
        command = before + ["toulbar2", plain] + ([evidence] if evidence else [])
        command += [f"-timer={seconds}", f"-w={solution}", "-s=0"] + extra
        start = time.time()
        try:
            run = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=10 * seconds + 60)
            text = run.stdout
        except subprocess.TimeoutExpired as stopped:
            text = (stopped.stdout or b"").decode()
        took = time.time() - start
        proved = bool(re.search(r"^Optimum:", text, re.M))
        state = None
        if os.path.exists(solution):
            with open(solution) as file:
                states = [[int(word) for word in line.split()] for line in file]
            whole = [state for state in states if len(state) == variables]  # a line may be cut short by the limit
            state = whole[-1] if whole else None
        return state, proved, took, None


def processor_seconds():
    """What the programs that have ended took together."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--seconds", nargs="+", type=int, default=[1, 10, 60])
    parser.add_argument("--core", type=int, help="a core of its own for the program that runs")
    parser.add_argument("--drover", default="build/bin/drover")
    parser.add_argument("--only", choices=["drover", "toulbar2"])
    parser.add_argument("--json", help="one line per run is added to this file")
    arguments, extra = parser.parse_known_args()
    before = [] if arguments.core is None else ["chrt", "-f", "10", "taskset", "-c", str(arguments.core)]
    contestants = []
    if arguments.only != "toulbar2":
        contestants.append("drover")
    if arguments.only != "drover" and shutil.which("toulbar2"):
        contestants += ["toulbar2", "toulbar2 -vns"]
    for path in arguments.models:
        name = re.sub(r"\.uai(\.gz)?$", "", os.path.basename(path))
        model = Model(path)
        evidence = os.path.abspath(re.sub(r"\.gz$", "", path) + ".evid")
        evidence = evidence if os.path.exists(evidence) else None
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, name + ".uai")
            with (gzip.open if path.endswith(".gz") else open)(path, "rb") as source, open(plain, "wb") as target:
                shutil.copyfileobj(source, target)
            for seconds in arguments.seconds:
                for who in contestants:
                    used = processor_seconds()
                    if who == "drover":
                        run = run_drover(before, arguments.drover, path, evidence, seconds, extra)
                    else:
                        run = run_toulbar2(before, plain, len(model.cardinalities), evidence, seconds, who.split()[1:])
                    state, proved, took, note = run
                    used = processor_seconds() - used
                    score = model.log_score(state) if state else None
                    shown = "none" if score is None else f"{score:.4f}"
                    print(f"{name:22} {seconds:4} s  {who:14} {shown:>14} {'proved' if proved else '':7} {took:7.2f} s {used:7.2f} s"
                          f"  {'' if note is None else note}", flush=True)
                    if arguments.json:
                        with open(arguments.json, "a") as file:
                            json.dump({"model": name, "limit": seconds, "program": who, "log_score": score,
                                       "proved": proved, "seconds": took, "processor": used}, file)
                            file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
