"""A pvAccess server that posts an array of 100 MB for each line of its input, which is the seed of its numbers."""

import sys
import time

import numpy as np
from p4p.nt import NTScalar
from p4p.server import Server
from p4p.server.thread import SharedPV

LARGE = SharedPV(nt=NTScalar("ad"), initial=np.zeros(3))


def main() -> None:
    with Server(providers=[{"L:pva": LARGE}]):
        print("ready", flush=True)
        for line in sys.stdin:
            LARGE.post(np.random.default_rng(int(line)).random(12_500_000), timestamp=time.time())


main()
