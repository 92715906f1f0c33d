"""What the profiles say, and which source of settings overrides which."""

import re
from pathlib import Path

import pytest

from stateward.core.retry import Retry
from stateward.settings import PROFILES, Endpoint, Settings, WorkerSettings, unread_variables
from tests.settings.config_files import NOTHING, UPLOAD_STATES, load_text

# The profiles


def test_personal_retries_nothing_watches_nothing_and_takes_things_in_order() -> None:
    settings = Settings.load(None, profile="personal", environ=NOTHING)
    upload = settings.machine("upload")

    assert settings.as_mapping()["upload_record"] == {
        "states": list(UPLOAD_STATES),
        "retry": False,
        "timeout_monitoring": False,
        "priority_queue": False,
        "review": {"approvals": None, "group": None, "reason_codes": None},
        "metrics": {
            "enabled": False,
            "backend": "prometheus",
            "labels": ["status", "source_type", "retry_count"],
        },
        "logging": {"structured": False, "format": "text", "level": "info", "trace_id": False},
        "webhooks": {"enabled": True, "endpoints": []},
    }
    assert upload.max_retries == 0
    assert upload.timeout_s("parsing") is None
    assert upload.is_fifo
    assert upload.priorities == {}
    assert settings.store_path == Path("stateward-data/stateward.db")


def test_business_retries_three_times_and_watches_every_minute() -> None:
    settings = Settings.load(None, profile="business", environ=NOTHING)
    upload = settings.machine("upload")

    assert upload.states == UPLOAD_STATES
    assert upload.max_retries == 3
    assert upload.backoff_s == (60.0, 300.0, 900.0)
    assert upload.jitter_s == 0
    assert upload.timeouts_s == {"parsing": 300, "normalizing": 60}
    assert upload.check_interval_s == 60
    assert upload.is_fifo
    assert not upload.metrics.enabled
    assert upload.webhooks == ()
    assert settings.notifications.admin_email is None
    assert settings.notifications.smtp_url is None


def test_enterprise_has_everything_on() -> None:
    settings = Settings.load(None, profile="enterprise", environ=NOTHING)
    upload = settings.machine("upload")

    assert upload.states == UPLOAD_STATES
    assert upload.max_retries == 5
    assert upload.backoff_s == (10.0, 30.0, 60.0, 300.0, 900.0)
    assert upload.jitter_s == 1
    assert upload.timeouts_s == {"parsing": 120, "normalizing": 30}
    assert upload.check_interval_s == 10
    assert not upload.is_fifo
    assert upload.priorities == {
        "vip_customer": 10,
        "regulatory_filing": 7,
        "normal": 5,
        "batch_import": 1,
    }
    assert settings.as_mapping()["upload_record"] == {
        "states": list(UPLOAD_STATES),
        "retry": {
            "enabled": True,
            "max_retries": 5,
            "backoff_seconds": [10, 30, 60, 300, 900],
            "jitter_ms": 1000,
            "fatal_after_seconds": None,
            "source_types": [],
        },
        "timeout_monitoring": {
            "enabled": True,
            "parsing_timeout_seconds": 120,
            "normalizing_timeout_seconds": 30,
            "check_interval_seconds": 10,
        },
        "priority_queue": {
            "enabled": True,
            "priorities": ["vip_customer", "regulatory_filing", "normal", "batch_import"],
            "preemption": False,
        },
        "review": {"approvals": None, "group": None, "reason_codes": None},
        "metrics": {
            "enabled": True,
            "backend": "prometheus",
            "labels": ["status", "source_type", "retry_count"],
        },
        "logging": {"structured": True, "format": "json", "level": "info", "trace_id": True},
        "webhooks": {"enabled": True, "endpoints": []},
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_agrees_with_the_states_of_the_upload_machine(profile: str) -> None:
    settings = Settings.load(None, profile=profile, environ=NOTHING)

    assert settings.check_states("upload", UPLOAD_STATES) == []


def test_the_defaults_are_the_documented_ones() -> None:
    settings = Settings.load(None, environ=NOTHING)

    assert settings.profile == "personal"
    assert settings.data == "stateward-data"
    assert settings.pipelines == ()
    assert settings.worker == WorkerSettings(
        processes=2,
        inline_window=256,
        prefetch=0,
        heartbeat_seconds=5,
        lease_seconds=15,
        deliveries_max=3,
        redeliveries_max=10,
        cpu_seconds=None,
        memory_bytes=1024 * 2**20,
        file_bytes=2**30,
        open_files=256,
        processes_max=64,
        items_max=5_000_000,
        item_bytes_max=2**20,
        items_bytes_max=2**30,
        log_bytes_max=2**20,
        jobs_per_child=2000,
        transient_attempts=3,
        transient_backoff_seconds=0.5,
    )
    assert settings.as_mapping()["coordinator"] == {
        "batch_max": 512,
        "idle_seconds": 30,
        "ageing_seconds": 600,
        "clock_ahead_seconds_max": 3600,
        "clock_gap_seconds_max": 86_400,
    }
    assert settings.limits.upload_bytes_max == 256 * 2**20


# Who overrides whom


def test_a_file_changes_what_it_names_and_leaves_the_rest_of_its_profile(config: Path) -> None:
    text = """
profile: business
worker: {processes: 8}
upload_record:
  retry: {max_retries: 4, backoff_seconds: [5]}
  timeout_monitoring: {parsing_timeout_seconds: 10}
contract_record:
  webhooks:
    endpoints:
      - {url: "https://example.com/hook", events: [completed]}
"""

    settings = load_text(config, text)
    upload, contract = settings.machine("upload"), settings.machine("contract")

    assert settings.profile == "business"
    assert settings.worker.processes == 8
    assert settings.worker.prefetch == 0
    assert (upload.max_retries, upload.backoff_s) == (4, (5,))
    assert upload.timeouts_s == {"parsing": 10, "normalizing": 60}
    assert contract.max_retries is None
    assert contract.webhooks == (Endpoint(url="https://example.com/hook", events=("completed",)),)


def test_the_deadline_of_a_review_is_a_timeout_of_its_state_as_the_guide_says(config: Path) -> None:
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "review-contracts.md"
    documented = re.findall(r"`(contract_record: .*?)` makes it two days", guide.read_text("utf-8"))

    contract = load_text(config, documented[0]).machine("contract")

    assert contract.timeouts_s == {"review_required": 172800}


def test_a_file_says_how_long_a_failure_waits_that_no_retry_can_cure(config: Path) -> None:
    contract = load_text(config, "contract_record: {retry: {fatal_after_seconds: 60}}").machine(
        "contract"
    )

    assert contract.retry_rule(Retry(fatal_after_s=86400)).fatal_after_s == 60
    assert contract.retry_rule(Retry()).max_retries == 3


def test_a_file_can_switch_off_what_its_profile_has_on(config: Path) -> None:
    text = """
profile: enterprise
upload_record:
  retry: {enabled: false}
  timeout_monitoring: false
  priority_queue: {enabled: false}
  webhooks: {enabled: false, endpoints: [{url: "https://a", events: [error]}]}
"""

    upload = load_text(config, text).machine("upload")

    assert upload.max_retries == 0
    assert upload.timeouts_s == {}
    assert upload.is_fifo
    assert upload.webhooks == ()


def test_a_file_can_switch_on_what_its_profile_has_off(config: Path) -> None:
    upload = load_text(config, "upload_record:\n  retry: {max_retries: 1}\n").machine("upload")

    assert upload.retry_rule(Retry()) == Retry(max_retries=1)


def test_a_file_can_retry_a_source_type_otherwise(config: Path) -> None:
    text = """
profile: business
upload_record:
  retry:
    source_types:
      - {source_type: scan, max_retries: 5, backoff_seconds: [1, 2]}
      - {source_type: letter, max_retries: 0}
"""

    upload = load_text(config, text).machine("upload")

    assert upload.retry_by_source_type == {
        "scan": Retry(max_retries=5, backoff_s=(1, 2)),
        "letter": Retry(max_retries=0, backoff_s=(60, 300, 900)),
    }
    assert upload.max_retries == 3


def test_without_a_section_the_machine_itself_rules(config: Path) -> None:
    declared = Retry(max_retries=7, backoff_s=(1.0,))

    contract = load_text(config, "").machine("contract")

    assert contract.retry_rule(declared) is declared
    assert contract.timeout_s("extracting") is None
    assert contract.check_interval_s == 60
    assert contract.states is None
    assert contract.is_fifo


def test_null_hands_a_rule_back_to_the_machine(config: Path) -> None:
    upload = load_text(config, "profile: business\nupload_record:\n  retry: null\n").machine(
        "upload"
    )

    assert upload.max_retries is None


def test_the_environment_lies_above_the_file_and_arguments_above_both(config: Path) -> None:
    config.write_text("profile: business\ndata: in-file\nstore: {url: 'memory:'}\n")
    variables = {
        "STATEWARD_CONFIG": str(config),
        "STATEWARD_PROFILE": "enterprise",
        "STATEWARD_DATA": "in-environment",
        "STATEWARD_STORE_URL": "postgresql://db/stateward",
        "STATEWARD_WORKER": "ignored",
    }

    by_file = Settings.load(config, environ=NOTHING)
    by_environment = Settings.load(environ=variables)
    by_argument = Settings.load(config, profile="personal", environ=variables)

    assert (by_file.profile, by_file.store.url) == ("business", "memory:")
    assert by_environment.profile == "enterprise"
    assert by_environment.data_path == Path("in-environment")
    assert by_environment.store.url == "postgresql://db/stateward"
    assert by_argument.profile == "personal"
    assert by_argument.machine("upload").max_retries == 0


def test_an_argument_beats_the_file_that_the_environment_names(config: Path) -> None:
    config.write_text("worker: {processes: 3}\n")

    settings = Settings.load(config, environ={"STATEWARD_CONFIG": "/nowhere"})

    assert settings.worker.processes == 3


def test_empty_variables_count_as_unset() -> None:
    names = ("CONFIG", "PROFILE", "DATA", "STORE_URL")

    settings = Settings.load(environ={f"STATEWARD_{name}": "" for name in names})

    assert settings == Settings.load(environ=NOTHING)


def test_the_environment_of_the_process_is_read_when_none_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STATEWARD_PROFILE", "business")

    assert Settings.load().profile == "business"


def test_relative_paths_in_a_file_are_counted_from_the_file(config: Path) -> None:
    (config.parent / "mine").mkdir()
    for name in ("mine/first.py", "second.py"):
        (config.parent / name).write_text("")
    absolute = config.parent / "third.py"
    absolute.write_text("")
    text = f"data: files\npipelines: [mine/first.py, second.py, json, {absolute}]\n"

    settings = load_text(config, text)

    assert settings.data_path == config.parent / "files"
    assert settings.pipelines == (
        str(config.parent / "mine/first.py"),
        str(config.parent / "second.py"),
        "json",
        str(absolute),
    )


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:", "d/stateward.db"),
        ("sqlite:other.db", "d/other.db"),
        ("sqlite:///var/lib/a%20b.db", "/var/lib/a b.db"),
        ("sqlite:/var/lib/c.db", "/var/lib/c.db"),
        ("memory:", None),
        ("postgresql://u:p@db:5432/name?sslmode=require", None),
        ("postgresql:///name", None),
    ],
)
def test_the_store_has_a_file_only_when_it_is_sqlite(url: str, path: str | None) -> None:
    settings = Settings.load(environ={"STATEWARD_STORE_URL": url, "STATEWARD_DATA": "d"})

    assert settings.store_path == (None if path is None else Path(path))


def test_variables_that_set_nothing_are_named() -> None:
    read = {"STATEWARD_DATA": "d", "STATEWARD_MODEL_KEY": "k", "STATEWARD_CONFIG": "c", "HOME": "/"}
    kubernetes = dict.fromkeys(
        ("STATEWARD_PORT", "STATEWARD_API_SERVICE_HOST", "STATEWARD_PORT_8420_TCP_ADDR"), "10.0.0.1"
    )

    assert unread_variables({**read, **kubernetes}) == []
    assert unread_variables({**read, "STATEWARD_STORE_ULR": "x"}) == ["STATEWARD_STORE_ULR"]
