"""The files for operators match the code: units and containers run commands that exist, the dashboard and the alerts
use metrics that exist."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from msgspec.structs import replace

from stateward.app.machines import declared_machines
from stateward.cli import cli
from stateward.core.errors import InvalidRequest
from stateward.server.listening import check_address
from stateward.settings import Settings
from stateward.telemetry.metrics import METRICS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE = DEPLOY / "container" / "compose.yaml"
COMPOSES = [COMPOSE, DEPLOY / "container" / "compose.scale-out.yaml"]
CONTAINERFILE = DEPLOY / "container" / "Containerfile"
RULES = DEPLOY / "prometheus" / "rules.yaml"
ALERTS = DEPLOY / "prometheus" / "alerts.yaml"
DASHBOARD = DEPLOY / "grafana" / "stateward.json"
PROMTOOL = shutil.which("promtool") or shutil.which("promtool", path=Path(sys.executable).parent)
SYSTEMD = shutil.which("systemd-analyze")

# Words of PromQL, and what Prometheus itself adds.
WORDS = {
    "clamp_max", "or", "and", "on", "without", "vector", "sum", "max", "by", "rate", "increase", "delta",
    "min_over_time", "histogram_quantile", "label_values",
    "up", "job", "le", "instance", "__rate_interval",
}  # fmt: skip


def read(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    return yaml.safe_load(path.read_text("utf-8"))


def is_a_command(words: list[str]) -> bool:
    """Whether the command line accepts these words."""
    context = cli.make_context("stateward", list(words), resilient_parsing=True)
    left = [*context._protected_args, *context.args]
    name, command, rest = cli.resolve_command(context, left)
    assert isinstance(command, click.Command)
    command.make_context(name, rest, parent=context, resilient_parsing=False)
    return True


# Roles


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_role_that_exists(unit: Path) -> None:
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text("utf-8"), re.MULTILINE)
    program, *words = shlex.split(line.replace("%i", "8420"))

    assert program.endswith("/stateward")
    assert is_a_command(words)


def test_there_is_a_unit_for_every_role() -> None:
    roles = {unit.stem.removeprefix("stateward").strip("-@") for unit in UNITS}

    assert roles == {"", "api", "coordinator", "worker", "notifier"}


def test_a_stop_waits_longer_than_a_stage_of_statements_or_contracts_may_take() -> None:
    machines = declared_machines(Settings.load(DEPLOY / "stateward.yaml", environ={}))
    chosen = [each for each in machines if each.name in ("upload", "contract")]
    longest_s = max(stage.timeout_s for each in chosen for stage in each.stages)
    waits = [
        int(found[1])
        for unit in UNITS
        if "KillMode=mixed" in (text := unit.read_text("utf-8"))
        and (found := re.search(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE))
    ]
    waits.append(int(read(COMPOSE)["services"]["worker"]["stop_grace_period"].rstrip("s")))

    assert len(waits) == 3
    assert all(wait > longest_s for wait in waits)


@pytest.mark.skipif(SYSTEMD is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_a_unit(unit: Path, tmp_path: Path) -> None:
    text = unit.read_text("utf-8").replace("/opt/stateward/.venv/bin/stateward", "/bin/true")
    copied = tmp_path / unit.name.replace("@", "@1")
    copied.write_text(text)

    done = subprocess.run(
        [str(SYSTEMD), "verify", "--man=no", str(copied)],
        capture_output=True,
        text=True,
        check=False,
    )

    complaints = [line for line in done.stderr.splitlines() if copied.name in line]
    assert complaints == []


@pytest.mark.parametrize("compose", COMPOSES, ids=lambda each: each.name)
def test_every_container_runs_a_role_that_exists(compose: Path) -> None:
    services = read(compose)["services"]
    ours = {name: each for name, each in services.items() if each.get("image") == "stateward"}

    assert ours.keys() == {"api", "coordinator", "worker", "notifier"}
    assert all(is_a_command(each["command"]) for each in ours.values())
    assert all(each["cap_drop"] == ["ALL"] for each in ours.values())
    assert all(each["read_only"] and each["tmpfs"] == ["/tmp"] for each in ours.values())


@pytest.mark.parametrize("compose", COMPOSES, ids=lambda each: each.name)
def test_what_compose_mounts_and_names_exists(compose: Path) -> None:
    document = read(compose)
    volumes = document["volumes"].keys()
    for service in document["services"].values():
        for mount in service.get("volumes", ()):
            source = mount.split(":")[0]
            if ":" not in mount:  # a volume of the container's own
                continue
            is_file = source.startswith(".")
            assert (COMPOSE.parent / source).exists() if is_file else source in volumes
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")
    build = document["x-stateward"]["build"]
    assert (COMPOSE.parent / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).samefile(CONTAINERFILE)


def test_the_image_is_built_from_files_that_exist_and_does_not_run_as_root() -> None:
    text = CONTAINERFILE.read_text("utf-8")
    copied = [
        word
        for line in re.findall(r"^COPY (?!--)(.*) \S+$", text, re.MULTILINE)
        for word in line.split()
    ]
    locks = re.findall(r"-r (requirements/\S+)", text)

    assert {"src", "requirements", "pyproject.toml"} <= set(copied)
    assert all((ROOT / each).exists() for each in [*copied, *locks])
    assert "--require-hashes" in text
    assert re.search(r"^USER \d+$", text, re.MULTILINE)
    assert re.search(r'^ENTRYPOINT \["stateward"\]$', text, re.MULTILINE)


@pytest.mark.parametrize(
    "name", ["stateward.yaml", "container/stateward.scale-out.yaml", "kubernetes/stateward.yaml"]
)
def test_an_api_in_a_container_may_listen_beyond_it_once_there_is_a_key(name: str) -> None:
    found = Settings.load(DEPLOY / name, environ={})
    settings = replace(found, api=replace(found.api, host="0.0.0.0"))  # noqa: S104 - as the files do

    check_address(settings, has_key=True)

    with pytest.raises(InvalidRequest, match="stateward key create NAME --role admin"):
        check_address(settings, has_key=False)


def test_the_shipped_settings_are_valid() -> None:
    environ = {"STATEWARD_STORE_URL": "postgresql://stateward:x@db/stateward"}

    settings = Settings.load(DEPLOY / "stateward.yaml", environ=environ)

    assert settings.profile == "enterprise"
    assert settings.machine("upload").metrics.enabled
    assert "api" in settings.api.hosts
    exposed = re.findall(r"^EXPOSE (\d+)$", CONTAINERFILE.read_text("utf-8"), re.MULTILINE)
    assert exposed == [str(settings.api.port)]


# Metrics


def series() -> dict[str, set[str]]:
    """Every series that can be queried, with its labels."""
    found: dict[str, set[str]] = {}
    for metric in METRICS:
        name, labels = metric.name_for("upload"), set(metric.labels)
        if metric.kind == "histogram":
            found |= {
                f"{name}_bucket": labels | {"le"},
                f"{name}_sum": labels,
                f"{name}_count": labels,
            }
        else:
            found[name] = labels
    return found


def recorded() -> dict[str, str]:
    return {
        each["record"]: each["expr"] for group in read(RULES)["groups"] for each in group["rules"]
    }


def alerts() -> list[dict[str, Any]]:
    return [each for group in read(ALERTS)["groups"] for each in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return found


def expressions() -> Iterator[tuple[str, str]]:
    """Every PromQL expression in these files, with the name of its rule or panel."""
    yield from recorded().items()
    yield from ((each["alert"], each["expr"]) for each in alerts())
    for panel in panels():
        yield from ((panel["title"], target["expr"]) for target in panel["targets"])
    for variable in json.loads(DASHBOARD.read_text("utf-8"))["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"]


def names_in(expression: str) -> set[str]:
    """Metrics and labels of an expression: its words without texts, numbers, durations and PromQL's own."""
    bare = re.sub(r'"[^"]*"', "", expression)
    bare = re.sub(r"\[[^\]]*\]|offset [0-9]+[a-z]", "", bare)
    return {word for word in re.findall(r"[a-zA-Z_][a-zA-Z0-9_:]*", bare) if word not in WORDS}


@pytest.mark.parametrize(("where", "expression"), list(expressions()))
def test_an_expression_uses_metrics_and_labels_that_exist(where: str, expression: str) -> None:
    known = series()
    asked = names_in(expression)

    metrics = {name for name in asked if name in known}
    rules = {name for name in asked if name in recorded()}
    labels = asked - metrics - rules
    of_rules = {
        label for name in rules for label in names_in(recorded()[name]) if label not in known
    }
    allowed = {label for name in metrics for label in known[name]} | of_rules
    assert metrics or rules or "up{" in expression, f"{where} uses no metric of ours"
    assert labels <= allowed, f"{where} names {labels - allowed}"


def test_every_service_level_has_a_panel_and_an_alert() -> None:
    shown = {panel["title"] for panel in panels()}
    firing = {each["alert"] for each in alerts()}

    assert {
        "p95 in each status", "Retry rate", "Timeout rate", "Queue depth by priority", "Stuck records",
        "Normalized within 60 s (1 h)", "Records by status", "Transition latency", "Webhook attempts by outcome",
    } <= shown  # fmt: skip
    assert {
        "StatewardSlowStatus", "StatewardRetryRate", "StatewardTimeoutRate", "StatewardQueueDepth",
        "StatewardStuckRecords", "StatewardSlaMissed", "StatewardWebhooksDead",
    } <= firing  # fmt: skip


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for alert in alerts():
        assert alert["labels"]["severity"] in {"critical", "warning"}
        assert alert["for"]
        assert alert["annotations"]["summary"]
        assert len(alert["annotations"]["description"]) > 30


def test_the_panels_of_the_dashboard_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in panels()}) == len(panels())


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    "words",
    [
        ["check", "rules", "rules.yaml", "alerts.yaml"],
        ["test", "rules", "alerts_test.yaml"],
        ["check", "config", "--syntax-only", "prometheus.yml"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_promtool_agrees(words: list[str]) -> None:
    done = subprocess.run(
        [str(PROMTOOL), *words], cwd=RULES.parent, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
