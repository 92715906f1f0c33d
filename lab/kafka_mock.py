"""The mock cluster of librdkafka, in this process: brokers that speak Kafka's protocol and keep everything in memory.

`test.mock.num.brokers` makes the same cluster, but the first member of a group then waits for three seconds, which is
longer than the sessions of tests last, and no broker can be taken down. So it is made through the C interface that
the library of confluent-kafka exports. What it cannot do: create topics by the admin interface (asking for a topic
makes it, with four partitions), retention, authentication.
"""

import ctypes
from pathlib import Path
from types import TracebackType
from typing import Self

ALL_BROKERS = -1
_POINTER, _TEXT, _INT = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
_FUNCTIONS: dict[str, tuple[object, list[object]]] = {
    "rd_kafka_conf_new": (_POINTER, []),
    "rd_kafka_conf_set": (_INT, [_POINTER, _TEXT, _TEXT, _TEXT, ctypes.c_size_t]),
    "rd_kafka_new": (_POINTER, [_INT, _POINTER, _TEXT, ctypes.c_size_t]),
    "rd_kafka_destroy": (None, [_POINTER]),
    "rd_kafka_mock_cluster_new": (_POINTER, [_POINTER, _INT]),
    "rd_kafka_mock_cluster_destroy": (None, [_POINTER]),
    "rd_kafka_mock_cluster_bootstraps": (_TEXT, [_POINTER]),
    "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, [_POINTER, ctypes.c_int32]),
    "rd_kafka_mock_set_controller_id": (None, [_POINTER, ctypes.c_int32]),
    "rd_kafka_mock_broker_set_down": (_INT, [_POINTER, ctypes.c_int32]),
    "rd_kafka_mock_broker_set_up": (_INT, [_POINTER, ctypes.c_int32]),
    "rd_kafka_mock_start_request_tracking": (None, [_POINTER]),
    "rd_kafka_mock_get_requests": (
        ctypes.POINTER(_POINTER),
        [_POINTER, ctypes.POINTER(ctypes.c_size_t)],
    ),
    "rd_kafka_mock_request_api_key": (ctypes.c_int16, [_POINTER]),
    "rd_kafka_mock_request_destroy_array": (None, [ctypes.POINTER(_POINTER), ctypes.c_size_t]),
}


class KafkaMock:
    """A cluster of one broker. `url` has settings that make groups as quick as tests want them.

    A session is longer than a second: the mock waits for a second less until it answers those who join, and looks for
    sessions that ended meanwhile. At a second or below it drops members that wait for that answer, who never get one
    (a broker drops none of them). A fetch that found nothing is answered after its whole wait.
    """

    def __init__(self, *, settings: str = "session.timeout.ms=1500&fetch.wait.max.ms=20") -> None:
        self._library = _library()
        error = ctypes.create_string_buffer(512)
        config = self._library.rd_kafka_conf_new()
        self._library.rd_kafka_conf_set(config, b"log_level", b"0", error, len(error))
        self._handle = self._library.rd_kafka_new(0, config, error, len(error))
        if not self._handle:
            raise RuntimeError(error.value.decode())
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._handle, 1)
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
        self._library.rd_kafka_mock_set_controller_id(self._cluster, 1)
        self._library.rd_kafka_mock_start_request_tracking(self._cluster)
        brokers = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()
        self.url = f"kafka://{brokers}?{settings}"

    def asked(self) -> set[int]:
        """The kinds of requests that came so far, by their numbers in the protocol."""
        count = ctypes.c_size_t()
        found = self._library.rd_kafka_mock_get_requests(self._cluster, ctypes.byref(count))
        try:
            return {
                self._library.rd_kafka_mock_request_api_key(found[each])
                for each in range(count.value)
            }
        finally:
            self._library.rd_kafka_mock_request_destroy_array(found, count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._handle)

    def stop(self) -> None:
        """Take the broker down: connections are cut, and none is accepted. It forgets nothing."""
        self._library.rd_kafka_mock_broker_set_down(self._cluster, ALL_BROKERS)

    def go_on(self) -> None:
        """Take it up again."""
        self._library.rd_kafka_mock_broker_set_up(self._cluster, ALL_BROKERS)


def _library() -> ctypes.CDLL:
    """The library that confluent-kafka has loaded already."""
    import confluent_kafka

    folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
    (path,) = folder.glob("librdkafka*.so*")
    found = ctypes.CDLL(str(path))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found
