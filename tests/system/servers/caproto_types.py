"""A Channel Access server that is not EPICS Base: caproto, with one PV of each type."""

from caproto import ChannelType
from caproto.server import PVGroup, pvproperty, run


class Types(PVGroup):
    """One PV of each native type of Channel Access, and counters that move."""

    double = pvproperty(value=2.5, units="mm", precision=4, upper_disp_limit=9.0, lower_disp_limit=-9.0)
    integer = pvproperty(value=-7)
    text = pvproperty(value="plain", dtype=ChannelType.STRING)
    long_text = pvproperty(value="x" * 100, dtype=ChannelType.CHAR, max_length=200)
    state = pvproperty(value="two", enum_strings=["one", "two", "three"], record="mbbi", dtype=ChannelType.ENUM)
    doubles = pvproperty(value=[1.0, 2.0, 3.0], max_length=10)
    floats = pvproperty(value=[0.5], dtype=ChannelType.FLOAT, max_length=10)
    shorts = pvproperty(value=[1, -1], dtype=ChannelType.INT, max_length=10)
    counter = pvproperty(value=0)

    @counter.scan(period=0.1)
    async def counter(self, instance, async_lib):
        await instance.write(instance.value + 1)


async def announce(async_lib) -> None:
    """Tells the tests that it serves."""
    print("ready", flush=True)


run(Types(prefix="C:").pvdb, interfaces=["127.0.0.1"], startup_hook=announce, log_pv_names=False)
