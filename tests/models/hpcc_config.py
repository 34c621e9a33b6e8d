"""The configuration files of the HPCC authors' simulator, for `models.hpcc`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.hpcc_numbers import nanoseconds
from models.hpcc_rates import CONTROLS, US

S = 10**9
DATA_HEADER, ACK_HEADER, MIN_ACK = 48, 46, 60

DEFAULTS = {
    "ENABLE_QCN": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "L2_CHUNK_SIZE": "0",
    "L2_ACK_INTERVAL": "0",
    "L2_BACK_TO_ZERO": "0",
    "PAUSE_TIME": "5",
    "ENABLE_TRACE": "1",
    "SIMULATOR_STOP_TIME": "3.01",
    "CC_MODE": "1",
    "ALPHA_RESUME_INTERVAL": "55",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "0",
    "EWMA_GAIN": "0",
    "FAST_RECOVERY_TIMES": "5",
    "RATE_AI": "5Mb/s",
    "RATE_HAI": "50Mb/s",
    "MIN_RATE": "100Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
    "ERROR_RATE_PER_LINK": "0",
    "HAS_WIN": "1",
    "GLOBAL_T": "1",
    "VAR_WIN": "0",
    "FAST_REACT": "1",
    "U_TARGET": "0.95",
    "MI_THRESH": "5",
    "INT_MULTI": "1",
    "MULTI_RATE": "1",
    "SAMPLE_FEEDBACK": "0",
    "PINT_LOG_BASE": "1.05",
    "PINT_PROB": "1",
    "RATE_BOUND": "1",
    "ACK_HIGH_PRIO": "0",
    "BUFFER_SIZE": "16",
    "LINK_DOWN": "0 0 0",
    "QLEN_MON_START": "2000000000",
    "QLEN_MON_END": "2100000000",
}
"""What an option is where a configuration has none."""

RATE_UNITS = {
    unit + per: scale
    for unit, scale in (("", 1), ("K", 10**3), ("k", 10**3), ("M", 10**6), ("G", 10**9))
    for per in ("bps", "b/s")
}
TIME_UNITS = {"ns": 1, "us": US, "ms": 1000 * US, "s": S}


def with_unit(text: str, units: dict[str, int]) -> int:
    unit = text.lstrip("0123456789.")
    return int(float(text.removesuffix(unit)) * units[unit])


def rate_of(text: str) -> int:
    return with_unit(text, {"": 1} | RATE_UNITS)


class Config:
    """The options of a configuration file."""

    def __init__(self, path: Path) -> None:
        options = dict(DEFAULTS)
        for line in path.read_text().splitlines():
            words = line.split()
            if words:
                options[words[0]] = " ".join(words[1:])
        folder = path.parent

        def number(key: str) -> int:
            return int(float(options[key]))

        def flag(key: str) -> bool:
            return number(key) != 0

        def by_rate(key: str, kind: Callable[[str], Any]) -> dict[int, Any]:
            words = options[key].split()
            pairs = words[1 : 1 + 2 * int(words[0])]
            return {int(rate): kind(value) for rate, value in zip(pairs[::2], pairs[1::2], strict=True)}

        self.topology = (folder / options["TOPOLOGY_FILE"]).read_text().split()
        self.flows = (folder / options["FLOW_FILE"]).read_text().split()
        listed = (folder / options["TRACE_FILE"]).read_text().split() if flag("ENABLE_TRACE") else ["0"]
        self.traced = [int(word) for word in listed[1 : 1 + int(listed[0])]]
        self.pause_time = number("PAUSE_TIME")
        """Only PFC frames show it: a pause lasts until it is ended."""
        self.stop = nanoseconds(float(options["SIMULATOR_STOP_TIME"]))
        self.link_down = [int(word) for word in options["LINK_DOWN"].split()]
        self.monitored = "QLEN_MON_FILE" in options
        self.monitor = number("QLEN_MON_START"), number("QLEN_MON_END")

        self.payload = number("PACKET_PAYLOAD_SIZE")
        self.chunk, self.back_to_zero = number("L2_CHUNK_SIZE"), flag("L2_BACK_TO_ZERO")
        self.ack_interval = number("L2_ACK_INTERVAL")
        self.ack_class = 0 if flag("ACK_HIGH_PRIO") else 3
        """Only a pause of this class stops a host's ACKs, whatever their own."""
        self.error_rate = float(options["ERROR_RATE_PER_LINK"])

        self.buffer = number("BUFFER_SIZE") << 20
        self.marks = flag("ENABLE_QCN")
        self.k_min, self.k_max = by_rate("KMIN_MAP", int), by_rate("KMAX_MAP", int)
        self.p_max = by_rate("PMAX_MAP", float)

        self.mode = number("CC_MODE")
        self.control = CONTROLS[self.mode]
        self.header = DATA_HEADER + self.control.header
        self.ack_size = max(MIN_ACK, ACK_HEADER + self.control.header)
        self.has_window, self.variable_window = flag("HAS_WIN"), flag("VAR_WIN")
        self.global_rtt, self.rate_bound = flag("GLOBAL_T"), flag("RATE_BOUND")
        self.min_rate, self.ai_rate = rate_of(options["MIN_RATE"]), rate_of(options["RATE_AI"])
        self.hai_rate, self.dctcp_ai_rate = rate_of(options["RATE_HAI"]), rate_of(options["DCTCP_RATE_AI"])
        self.gain = float(options["EWMA_GAIN"])

        self.target, self.max_stage = float(options["U_TARGET"]), number("MI_THRESH")
        self.fast_react, self.multi_rate = flag("FAST_REACT"), flag("MULTI_RATE")
        self.sample_feedback, self.int_multiple = flag("SAMPLE_FEEDBACK"), number("INT_MULTI")
        self.pint_base = float(options["PINT_LOG_BASE"])
        self.pint_threshold = int(65536 * float(options["PINT_PROB"]))
        bits = math.ceil(math.log2(math.log(512 * 512) / math.log(self.pint_base)))
        self.pint_powers = 1 << (8 if bits <= 8 else 16)
        """So many can be told apart in a header of one byte or two; larger ones come round."""

        self.clamp_target_rate, self.fast_recovery = flag("CLAMP_TARGET_RATE"), number("FAST_RECOVERY_TIMES")
        self.alpha_interval = number("ALPHA_RESUME_INTERVAL") * US
        self.decrease_interval, self.increase_interval = number("RATE_DECREASE_INTERVAL") * US, number("RP_TIMER") * US
