"""A coordinator with a store and workers without one, in one process: `turn` lets each do one turn."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from stateward.app import App
from stateward.engine.node import Node
from stateward.settings import Settings

TURNS_MAX = 20_000
STEP_S = 0.01
TIMES = "worker: {processes: 1, heartbeat_seconds: 0.3, lease_seconds: 0.9}\n"


def settings(
    folder: Path,
    url: str,
    prefix: str,
    *,
    transport: str = "",
    text: str = "",
    times: str = TIMES,
) -> Settings:
    folder.mkdir(exist_ok=True, parents=True)
    config = folder / "config.yaml"
    config.write_text(
        f"data: {folder}/data\ntransport: {{url: '{url}', prefix: {prefix}, inline_bytes_max: 1000{transport}}}\n"
        f"{times}{text}"
    )
    return Settings.load(config, environ={})


class Scene:
    """One broker, one store, and whoever works on them."""

    def __init__(
        self, url: str, folder: Path, prefix: str, *, text: str = "", times: str = TIMES
    ) -> None:
        self.url, self.folder, self.prefix, self.text = url, folder, prefix, text
        self._stack = ExitStack()
        own = settings(folder / "coordinator", url, prefix, text=text, times=times)
        self.app = self._stack.enter_context(App(own))
        self.coordinator = self._stack.enter_context(self.app.node(is_worker=False))
        self.workers: list[Node] = []
        self.worker_apps: list[App] = []
        self._closing: dict[Node, ExitStack] = {}

    @property
    def blobs(self) -> Path:
        return self.folder / "coordinator" / "data" / "artifacts"

    def worker_settings(self, name: str, *, transport: str = "") -> Settings:
        text = "\n".join(line for line in self.text.splitlines() if not line.startswith("store:"))
        return settings(
            self.folder / name, self.url, self.prefix, transport=transport, text=text + "\n"
        )

    def add_worker(self, *, transport: str = "", own: Settings | None = None) -> Node:
        """A worker with a folder of its own, unless it has the settings of another process."""
        name = f"worker-{len(self.workers)}"
        used = own or self.worker_settings(name, transport=transport)
        app = self._stack.enter_context(App(used, is_runner=True))
        assert not (self.folder / name / "data" / "stateward.db").exists()  # it has no store
        self.worker_apps.append(app)
        closing = self._stack.enter_context(ExitStack())
        self.workers.append(closing.enter_context(app.node(is_coordinator=False)))
        self._closing[self.workers[-1]] = closing
        return self.workers[-1]

    def end_worker(self, worker: Node) -> None:
        """Close a worker, as the end of its process does."""
        self.workers.remove(worker)
        self._closing.pop(worker).close()

    def turn(self) -> None:
        for node in (self.coordinator, *self.workers):
            left = [True, True]  # a turn and the sleep after it
            node.work_while(lambda left=left: bool(left and left.pop()), step_s=STEP_S)  # type: ignore[misc]

    def until(self, is_true: Callable[[], bool]) -> None:
        for _ in range(TURNS_MAX):
            if is_true():
                return
            self.turn()
        raise AssertionError("it did not come to it")

    def finish(self, record_id: str) -> str:
        """The status in which the record comes to rest."""
        self.until(lambda: self.app.records.is_at_rest(self.app.record(record_id)))
        return self.app.record(record_id).status

    def close(self) -> None:
        self._stack.close()
