"""moto on loopback, one request at a time: `one_at_a_time.py PORT`.

Its conditional writes look first and write afterwards, so that of two at once both may win; no server of S3 allows it.
"""

import sys
import threading
from typing import Any

from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

moto = DomainDispatcherApplication(create_backend_app)
turn = threading.Lock()


def one_at_a_time(environ: Any, start_response: Any) -> list[bytes]:
    with turn:
        return list(moto(environ, start_response))


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), one_at_a_time, threaded=True, request_handler=MotoRequestHandler)
