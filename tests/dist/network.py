#!/usr/bin/env python3
"""Runs a program as processes on two machines that a bad network joins: namespaces of this machine, whose packets this
script passes on after a delay, except for a share that it loses. By hand, as root, with Linux's /dev/net/tun, iproute2
and Open MPI; tc's netem would do it too, where the kernel has it.

usage: network.py DELAY_MS LOSS_PERCENT PROCESSES PROGRAM ARGS...
"""
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time

NAMES = ("doorbell0", "doorbell1")
NETWORK, LAUNCH = "10.78.0", "10.77"  # of the program; of mpirun, which has a good one
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454ca, 1, 0x1000  # [linux/if_tun.h]
CLONE_NEWNET = 0x40000000  # [linux/sched.h]
# mpirun's remote shell: a namespace is a host.
AGENT = """#!/bin/sh
host=$1; shift
case $host in {0}.0.2) name={1} ;; *) name={2} ;; esac
exec ip netns exec $name sh -c "$*"
""".format(LAUNCH, *NAMES)


def ip(line, check=True):
    subprocess.run(["ip", *line.split()], check=check, stderr=None if check else subprocess.DEVNULL)


def clean():
    for i, name in enumerate(NAMES):
        ip(f"netns del {name}", check=False)
        ip(f"link del dbl{i}", check=False)


def enter(namespace):
    if ctypes.CDLL(None).setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(f"{namespace.name} cannot be entered")


def make(i, name):
    """The namespace, the good network to it, and its end of the bad one, whose packets are read and written here."""
    ip(f"netns add {name}")
    ip(f"link add dbl{i} type veth peer name good0 netns {name}")
    ip(f"addr add {LAUNCH}.{i}.1/24 dev dbl{i}")
    ip(f"link set dbl{i} up")
    for line in (f"addr add {LAUNCH}.{i}.2/24 dev good0", "link set good0 up", "link set lo up",
                 f"route add default via {LAUNCH}.{i}.1"):
        ip(f"-n {name} {line}")
    with open("/proc/self/ns/net", "rb") as own, open(f"/var/run/netns/{name}", "rb") as namespace:
        enter(namespace)
        tun = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"bad0", IFF_TUN | IFF_NO_PI))
        enter(own)
    ip(f"-n {name} addr add {NETWORK}.{i + 1}/24 dev bad0")
    ip(f"-n {name} link set bad0 up mtu 1400")
    return tun


def forward(ends, delay_s, loss, count, ended):
    chance, waiting = random.Random(1), []
    while not ended.is_set():
        ready, _, _ = select.select(ends, [], [], max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.1)
        now = time.monotonic()
        for end in ready:
            packet = os.read(end, 2048)
            count["packets"] += 1
            if chance.random() < loss:
                count["lost"] += 1
                continue
            heapq.heappush(waiting, (now + delay_s, count["packets"], ends[1 - ends.index(end)], packet))
        while waiting and waiting[0][0] <= now:
            _, _, to, packet = heapq.heappop(waiting)
            os.write(to, packet)


def main():
    delay_ms, loss_percent, processes, *program = sys.argv[1:]
    clean()
    count, ended = {"packets": 0, "lost": 0}, threading.Event()
    try:
        ends = [make(i, name) for i, name in enumerate(NAMES)]
        forwarder = threading.Thread(target=forward, args=(ends, float(delay_ms) / 1e3, float(loss_percent) / 100,
                                                           count, ended))
        forwarder.start()
        with tempfile.TemporaryDirectory() as folder:
            agent = os.path.join(folder, "agent")
            with open(agent, "w", encoding="ascii") as out:
                out.write(AGENT)
            os.chmod(agent, 0o755)
            done = subprocess.run(
                ["mpirun", "--allow-run-as-root", "-n", processes, "--map-by", "node", "--mca", "plm_rsh_agent", agent,
                 "--mca", "oob_tcp_if_include", f"{LAUNCH}.0.0/16", "--mca", "btl", "self,tcp", "--mca",
                 "btl_tcp_if_include", "bad0", "-H", f"{LAUNCH}.0.2:{processes},{LAUNCH}.1.2:{processes}", "-x",
                 "CPU_THREADS=1", *program], check=False)
    finally:
        ended.set()
        clean()
    print(f"{count['lost']} of {count['packets']} packets lost, the others {delay_ms} ms late")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
