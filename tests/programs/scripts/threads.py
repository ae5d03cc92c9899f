"""Threads that build and drop small objects, a queue between them, and children by fork and by exec."""

import collections
import hashlib
import json
import multiprocessing
import queue
import re
import subprocess
import sys
import threading


def note():
    """Writes down whether this process has libhakmem among its maps."""
    with open("/proc/self/maps") as maps, open("inside", "a") as inside:
        inside.write("true\n" if "libhakmem" in maps.read() else "false\n")


def digest(value):
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def build(seed):
    """Objects of many sizes, most of them short-lived."""
    kept, state = collections.OrderedDict(), seed
    for step in range(40000):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        kept[state % 997] = ["x" * (state % 613), {"step": step, "half": state / 2}, bytes(state % 41).hex()]
    return digest(list(kept.items()))


def produce(tasks):
    for number in range(3000):
        tasks.put([number] * (number % 50))
    tasks.put(None)


def consume(tasks, sums):
    total = 0
    while (task := tasks.get()) is not None:
        total += sum(task)
    sums.append(total)


def forked(seed):
    note()
    return build(seed)


def main():
    note()
    results = [None] * 4

    def work(index):
        results[index] = build(index + 1)

    tasks, sums = queue.Queue(64), []
    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    threads += [threading.Thread(target=produce, args=(tasks,)), threading.Thread(target=consume, args=(tasks, sums))]
    for thread in threads:
        thread.start()
    # Threads that come and go while the others run.
    for _ in range(300):
        brief = threading.Thread(target=lambda: ["y" * size for size in range(0, 4000, 40)])
        brief.start()
        brief.join()
    for thread in threads:
        thread.join()
    print(results, sums)

    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(forked, range(10, 14)))
    code = "import threads; threads.note(); print(threads.build(7))"
    for _ in range(3):
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip())
    text = " ".join(f"word{index % 1000}={index}" for index in range(100000))
    print(digest(collections.Counter(re.findall(r"(\w+)=\d+", text))))
    grown = bytearray()
    for _ in range(200):
        grown.extend(b"z" * 99991)
    print(len(grown), hashlib.md5(grown).hexdigest())


if __name__ == "__main__":
    main()
