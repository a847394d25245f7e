"""What PyDM's archiver plug-in gives to a plot, as JSON: its own channel and connection, in Qt and without a window.
Arguments: beginning and end in seconds since 1970, the command for reduction, and the name of a PV."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from pydm.widgets.channel import PyDMChannel
from qtpy.QtCore import QObject, QTimer, Signal
from qtpy.QtWidgets import QApplication


class Plot(QObject):  # type: ignore[misc]
    """Asks for a range as a plot does, and ends the program with the first answer."""

    request = Signal(float, float, str)

    def __init__(self, pv: str) -> None:
        super().__init__()
        self.told: dict[str, Any] = {"columns": None, "connected": []}
        self.channel = PyDMChannel(
            address=f"archiver://pv={pv}",
            value_slot=self.take,
            value_signal=self.request,
            connection_slot=self.told["connected"].append,
        )
        self.channel.connect()

    def take(self, columns: np.ndarray) -> None:
        self.told["columns"] = columns.tolist()
        QApplication.instance().quit()


def main() -> None:
    begin, end, command, pv = sys.argv[1:]
    application = QApplication([])
    plot = Plot(pv)
    QTimer.singleShot(0, lambda: plot.request.emit(float(begin), float(end), command))
    QTimer.singleShot(9000, application.quit)  # it gives up after 7.5 s
    application.exec_()
    json.dump(plot.told, sys.stdout)


main()
