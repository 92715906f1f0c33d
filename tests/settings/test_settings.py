"""What the profiles say, who overrides whom, and every refusal with its file and line."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stateward.core.errors import DeclarationError
from stateward.core.retry import Retry
from stateward.definition import yaml_source
from stateward.settings import (
    PROFILES,
    Endpoint,
    Settings,
    WorkerSettings,
    describe_settings,
    load,
    masked,
    sources,
)

UPLOAD_STATES = ("queued_for_parse", "parsing", "parsed", "normalizing", "normalized", "error")
NOTHING: Mapping[str, str] = {}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "stateward.yaml"


def load_text(config: Path, text: str, **variables: str) -> Settings:
    config.write_text(text, "utf-8")
    return Settings.load(config, environ=variables)


def faults_of(config: Path, text: str, **variables: str) -> list[str]:
    with pytest.raises(DeclarationError) as refused:
        load_text(config, text, **variables)
    return [str(fault).removeprefix(f"{config.parent}{os.sep}") for fault in refused.value.faults]


# The profiles.


def test_personal_retries_nothing_watches_nothing_and_takes_things_in_order() -> None:
    settings = Settings.load(None, profile="personal", environ=NOTHING)
    upload = settings.machine("upload")

    assert settings.as_mapping()["upload_record"] == {
        "states": list(UPLOAD_STATES),
        "retry": False,
        "timeout_monitoring": False,
        "priority_queue": False,
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
        cpu_seconds=None,
        memory_bytes=512 * 2**20,
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
    }
    assert settings.limits.upload_bytes_max == 256 * 2**20


# Who overrides whom.


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
    text = "data: files\npipelines: [mine/machine.yaml, runners.py, my.package, /abs/a.yml]\n"

    settings = load_text(config, text)

    assert settings.data_path == config.parent / "files"
    assert settings.pipelines == (
        str(config.parent / "mine/machine.yaml"),
        str(config.parent / "runners.py"),
        "my.package",
        "/abs/a.yml",
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


# Refusals.


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("worker:\n  proceses: 2", "2: worker.proceses: proceses is not a known key; did you mean "
         "processes?"),
        ("worker:\n  processes: 0",
         "2: worker.processes: processes must be a whole number from 1 to 1024, not 0"),
        ("worker:\n  processes: true",
         "2: worker.processes: processes must be a whole number from 1 to 1024, not true"),
        ("worker:\n  memory_bytes: '5'", "2: worker.memory_bytes: memory_bytes must be a whole "
         "number of at least 1, not the text '5'"),
        ("worker:\n  lease_seconds: 9",
         "2: worker.lease_seconds: lease_seconds must be at least two heartbeats (10), not 9"),
        ("\nworker:\n  heartbeat_seconds: 10",
         "2: worker.lease_seconds: lease_seconds must be at least two heartbeats (20), not 15"),
        ("worker:\n  items_bytes_max: 10", "1: worker.item_bytes_max: item_bytes_max must be at "
         "most items_bytes_max (10), not 1048576"),
        ("worker:", "1: worker: worker must be a mapping, not null"),
        ("profile: home", "1: profile: profile must be business, enterprise or personal, "
         "not 'home'"),
        ("data: ~/x", "1: data: data must be a whole path: ~ is not expanded"),
        ("data: ''", "1: data: data must be text of at least 1 character, not the text ''"),
        ("store:\n  url: mysql://u:secret@h/db",
         "2: store.url: url must begin with sqlite:, postgresql:// or memory:, not with 'mysql'"),
        ("store:\n  url: here", "2: store.url: url must begin with sqlite:, postgresql:// or "
         "memory:, not with 'here'"),
        ("store:\n  url: 'memory:x'", "2: store.url: nothing may follow memory:"),
        ("store:\n  url: 'sqlite::memory:'", "2: store.url: sqlite: must be followed by nothing or "
         "by the path of a file"),
        ("store:\n  url: sqlite://x/y.db", "2: store.url: an absolute path has three slashes before "
         "it, as in sqlite:///var/lib/stateward.db"),
        ("store:\n  url: 'postgresql:db'", "2: store.url: url must have the form "
         "postgresql://user:password@host:port/name"),
        ("store:\n  url: postgresql://u:p/w@h/db", "2: store.url: url must have the form "
         "postgresql://user:password@host:port/name"),
        ("store: postgresql://u:secret@h/db",
         "1: store: store must be a mapping, not 'postgresql:***@h/db'"),
        ("notifications:\n  admin_email: nobody", "2: notifications.admin_email: admin_email must be an e-mail "
         "address or null, not 'nobody'"),
        ("notifications:\n  admin_email: a@b.c",
         "2: notifications.admin_email: admin_email and smtp_url are needed together"),
        ("notifications:\n  smtp_url: smtp://h",
         "2: notifications.smtp_url: admin_email and smtp_url are needed together"),
        ("notifications:\n  admin_email: a@b.c\n  smtp_url: http://h", "3: notifications.smtp_url: smtp_url "
         "must have the form smtp://user:password@host:port (or smtps://)"),
        ("upload_record:\n  retry: true",
         "2: upload_record.retry: retry must be false or a mapping, not true"),
        ("upload_record:\n  retry: 3",
         "2: upload_record.retry: retry must be false or a mapping, not 3"),
        ("upload_record:\n  retry:\n    max_retries: -1", "3: upload_record.retry.max_retries: "
         "max_retries must be a whole number from 0 to 1000, not -1"),
        ("upload_record:\n  retry:\n    backoff_seconds: []", "3: upload_record.retry."
         "backoff_seconds: backoff_seconds must name at least one wait"),
        ("upload_record:\n  retry:\n    backoff_seconds:\n      - 1\n      - -1",
         "5: upload_record.retry.backoff_seconds[1]: item 2 of backoff_seconds must be a number "
         "from 0 to 2592000, not -1"),
        ("upload_record:\n  timeout_monitoring:\n    parsing_timeout_seconds: 0",
         "3: upload_record.timeout_monitoring.parsing_timeout_seconds: parsing_timeout_seconds "
         "must be a number above 0 and of at most 2592000, not 0"),
        ("upload_record:\n  timeout_monitoring:\n    parsing_seconds: 5",
         "3: upload_record.timeout_monitoring.parsing_seconds: parsing_seconds is not a known key; "
         "known are enabled, <running state>_timeout_seconds, check_interval_seconds"),
        ("upload_record:\n  timeout_monitoring: true", "2: upload_record.timeout_monitoring: "
         "timeout_monitoring must be false or a mapping, not true"),
        ("upload_record:\n  priority_queue:\n    preemption: true",
         "3: upload_record.priority_queue.preemption: preemption must be false: a running attempt is "
         "never cancelled"),
        ("upload_record:\n  priority_queue:\n    priorities: [vip]",
         "3: upload_record.priority_queue.priorities[0]: item 1 of priorities must be "
         "batch_import, normal, regulatory_filing or vip_customer, not 'vip'"),
        ("upload_record:\n  priority_queue:\n    priorities: [normal, normal]",
         "3: upload_record.priority_queue.priorities: priorities names normal twice"),
        ("upload_record:\n  states: [a, b, a]", "2: upload_record.states: states names a twice"),
        ("upload_record:\n  states: [A]", "2: upload_record.states[0]: item 1 of states must be a "
         "name of small letters, digits and underscores, not 'A'"),
        ("upload_record:\n  metrics:\n    backend: statsd",
         "3: upload_record.metrics.backend: backend must be prometheus, not 'statsd'"),
        ("upload_record:\n  logging:\n    trace_id: yes",
         "3: upload_record.logging.trace_id: trace_id must be true or false, not 'yes'"),
        ("ledger:\n  checkpoint_destinations: [shelf, 'https://u:pw@h/x']",
         "2: ledger.checkpoint_destinations[1]: a destination must be http "
         "or https, with a host and without credentials, or a folder, not 'https:***@h/x'"),
        ("ledger:\n  compact_at: '24:00'", "2: ledger.compact_at: compact_at must be a time of day "
         "like 03:30, not '24:00'"),
        ("ledger:\n  origin: two words", "2: ledger.origin: origin must be one word without + or null, "
         "not 'two words'"),
        ("upload_record:\n  webhooks:\n    endpoints:\n      - url: ftp://h/x\n"
         "        events: [error]", "4: upload_record.webhooks.endpoints[0].url: url must be http "
         "or https, with a host and without credentials, not 'ftp://h/x'"),
        ("upload_record:\n  webhooks:\n    endpoints:\n      - url: https://u:pw@h/x\n"
         "        events: [error]", "4: upload_record.webhooks.endpoints[0].url: url must be http "
         "or https, with a host and without credentials, not 'https:***@h/x'"),
        ("upload_record:\n  webhooks:\n    endpoints:\n      - events: [error]",
         "4: upload_record.webhooks.endpoints[0].url: url is missing; it must be text"),
        ("Upload_record: {}", "1: Upload_record: Upload_record is not a known key; known are "
         "profile, data, store, worker, coordinator, limits, api, server, notifications, telemetry, ledger, "
         "statements, contracts, reviews, watch, pipelines, <machine>_record"),
        ("records: {}", "1: records: records is not a known key; known are profile, data, store, "
         "worker, coordinator, limits, api, server, notifications, telemetry, ledger, statements, contracts, reviews, "
         "watch, pipelines, <machine>_record"),
        ("contracts: {extractor: both, model: {name: m}}", "1: contracts.extractor: the extractor both needs "
         "contracts.model.base_url"),
        ("contracts:\n  model: {base_url: 'ftp://h/'}", "2: contracts.model.base_url: base_url must be http or https, "
         "with a host and without credentials"),
        ("contracts:\n  model: {key: 'sk-ü'}", "2: contracts.model.key: key must be printable ASCII characters"),
        ("[1]", "1: the whole document must be a mapping, not a list of 1 item"),
        ("a: 1\na: 2", "2: a: the key 'a' is there already, on line 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_file_line_and_reason(
    config: Path, text: str, fault: str
) -> None:
    assert faults_of(config, text) == [f"stateward.yaml:{fault}"]


def test_every_fault_is_told_at_once(config: Path) -> None:
    text = "worker: {prefetch: x}\nlimits: {a: 1}\nupload_record: {retry: 5}\n"

    found = faults_of(config, text, STATEWARD_PROFILE="home", STATEWARD_STORE_URL="x")
    late = faults_of(config, "data: ~\\x\nworker: {lease_seconds: 1}", STATEWARD_STORE_URL="x:")

    assert [fault.split(": ")[0] for fault in found] == [
        *(f"stateward.yaml:{line}" for line in (1, 2, 3)),
        "STATEWARD_PROFILE",
    ]
    assert [fault.split(": ")[0] for fault in late] == [
        "stateward.yaml:1",
        "STATEWARD_STORE_URL",
        "stateward.yaml:2",
    ]


def test_a_wrong_argument_is_refused_by_name() -> None:
    with pytest.raises(DeclarationError, match=r"^--profile: profile: profile must be business, "):
        Settings.load(profile="home", environ=NOTHING)


def test_a_profile_of_our_own_that_is_broken_is_refused_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = yaml_source.plain({"worker": 5}, source="broken.yaml")
    monkeypatch.setattr(load, "profile_layer", lambda _: broken)

    with pytest.raises(DeclarationError, match="worker must be a mapping, not 5"):
        Settings.load(environ=NOTHING)


def test_a_file_that_is_not_there_is_refused_in_one_sentence(config: Path) -> None:
    with pytest.raises(DeclarationError) as refused:
        Settings.load(environ={"STATEWARD_CONFIG": str(config)})

    assert str(refused.value) == f"{config}: there is no such settings file"


def test_a_folder_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError) as refused:
        Settings.load(tmp_path, environ=NOTHING)

    assert str(refused.value) == f"{tmp_path}: this is a folder, not a settings file"


def test_a_file_that_may_not_be_read_is_refused_in_one_sentence(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)

    with pytest.raises(DeclarationError) as refused:
        Settings.load(config, environ=NOTHING)

    assert str(refused.value) == f"{config}: this user may not read the settings file"


@pytest.mark.parametrize("name", ["a\x00b", "x" * 5000])
def test_a_name_that_no_file_can_have_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(DeclarationError, match="the settings file cannot be read"):
        Settings.load(Path(name), environ=NOTHING)


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(config: Path) -> None:
    config.write_bytes(b"data: a\n# caf\xe9\n")

    with pytest.raises(DeclarationError) as refused:
        Settings.load(config, environ=NOTHING)

    assert str(refused.value) == f"{config}:2: the settings file is not UTF-8 text"


def test_a_file_without_end_is_refused(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "FILE_BYTES_MAX", 10)
    config.write_text("# " + "x" * 10)

    with pytest.raises(DeclarationError, match="larger than 10 bytes"):
        Settings.load(config, environ=NOTHING)


def test_a_file_that_is_not_yaml_is_refused_with_its_line(config: Path) -> None:
    (fault,) = faults_of(config, "data: a\nstore: [\n")

    assert fault.startswith("stateward.yaml:3: this is not valid YAML")


def test_an_empty_file_changes_nothing(config: Path) -> None:
    settings = load_text(config, "# nothing yet\n")

    assert settings.as_mapping() == Settings.load(environ=NOTHING).as_mapping()


# States.


def test_states_must_be_those_of_the_machine(config: Path) -> None:
    text = """
upload_record:
  states: [queued, running, done]
  timeout_monitoring: {runing_timeout_seconds: 5}
  webhooks:
    endpoints:
      - url: https://h
        events: [done, exploded]
"""
    settings = load_text(config, text)

    faults = [str(fault) for fault in settings.check_states("upload", ["queued", "running", "end"])]

    assert [fault.removeprefix(f"{config}:") for fault in faults] == [
        "3: upload_record.states: states must be those of the machine upload "
        "(missing: end; not among them: done)",
        "4: upload_record.timeout_monitoring.runing_timeout_seconds: the machine upload has no "
        "state runing; did you mean running?",
        "8: upload_record.webhooks.endpoints[0].events[0]: the machine upload has no state done; "
        "its states are queued, running, end",
        "8: upload_record.webhooks.endpoints[0].events[1]: the machine upload has no state "
        "exploded; its states are queued, running, end",
    ]


def test_the_order_of_states_does_not_matter(config: Path) -> None:
    settings = load_text(config, "x_record: {states: [b, a]}")

    assert settings.check_states("x", ["a", "b"]) == []
    assert settings.check_states("nobody", ["a", "b"]) == []


def test_a_fault_in_a_profile_names_the_profile() -> None:
    settings = Settings.load(profile="business", environ=NOTHING)

    faults = settings.check_states("upload", UPLOAD_STATES[:-1])

    assert [str(fault) for fault in faults] == [
        "stateward/profiles/business.yaml:4: upload_record.states: states must be those of the "
        f"machine upload (not among them: {UPLOAD_STATES[-1]})"
    ]


def test_a_machine_may_gain_states_that_a_shipped_profile_does_not_list() -> None:
    settings = Settings.load(profile="business", environ=NOTHING)

    faults = settings.check_states("upload", [*UPLOAD_STATES, "categorizing", "categorized"])

    assert faults == []


def test_a_fault_that_no_layer_speaks_of_is_the_settings_own() -> None:
    assert str(Settings().fault(("worker", "prefetch"), "no")) == "settings: worker.prefetch: no"


# Passwords.


def test_passwords_are_never_shown(config: Path) -> None:
    text = """
store: {url: "postgresql://u:hidden@h/db?sslpassword=hidden&x=1"}
notifications: {admin_email: a@b.c, smtp_url: "smtps://mail%40b.c:hidden@mail.b.c:465"}
contracts: {model: {key: sk-hidden}}
"""

    settings = load_text(config, text)

    assert settings.as_mapping()["store"] == {"url": "postgresql://u:***@h/db?sslpassword=***&x=1"}
    notifications = settings.as_mapping()["notifications"]
    assert isinstance(notifications, dict)
    assert notifications["admin_email"] == "a@b.c"
    assert notifications["smtp_url"] == "smtps://mail%40b.c:***@mail.b.c:465"
    contracts = settings.as_mapping()["contracts"]
    assert isinstance(contracts, dict)
    assert contracts["model"]["key"] == "***"
    said = f"{settings!r} {settings} {settings.store} {settings.notifications} {settings.contracts}"
    assert "hidden" not in said


@given(st.text(min_size=4).filter(lambda text: text not in "postgresql://user:***@host/db"))
def test_no_password_whatever_it_holds_is_shown(password: str) -> None:
    assert masked(f"postgresql://user:{password}@host/db") == "postgresql://user:***@host/db"


@pytest.mark.parametrize("text", ["sqlite:", "https://h/x?a=b", "smtp://user@host", "a@b.c"])
def test_text_without_a_password_is_shown_as_it_is(text: str) -> None:
    assert masked(text) == text


# The reference.


def test_every_setting_is_described() -> None:
    settings = describe_settings()

    paths = [each.path for each in settings]
    assert len(paths) == len(set(paths))
    assert all(each.type and each.default and each.description.endswith(".") for each in settings)
    assert {"profile", "data", "store.url", "worker.processes", "notifications.smtp_url"} < set(
        paths
    )
    assert {
        "<machine>_record.retry.backoff_seconds",
        "<machine>_record.timeout_monitoring.<running state>_timeout_seconds",
        "<machine>_record.webhooks.endpoints[].url",
    } < set(paths)


def test_everything_that_is_shown_is_described() -> None:
    described = {each.path for each in describe_settings()}
    shown = Settings.load(profile="business", environ=NOTHING).as_mapping()

    upload = shown.pop("upload_record")
    assert isinstance(upload, dict)
    for section, value in [
        *shown.items(),
        *((f"<machine>_record.{k}", v) for k, v in upload.items()),
    ]:
        keys = value if isinstance(value, dict) else {}
        states = {f"{section}.{key}" for key in keys if key.endswith("ing_timeout_seconds")}
        for key in {f"{section}.{key}" for key in keys} - states:
            assert key in described or any(each.startswith(f"{key}.") for each in described)


def test_a_line_of_the_reference_says_it_all() -> None:
    settings = {each.path: each for each in describe_settings()}

    assert settings["worker.lease_seconds"] == (
        "worker.lease_seconds",
        "a number above 0 and of at most 2592000",
        "15.0",
        "Time without a heartbeat after which a job is given to another worker: at least two heartbeats.",
    )


def test_what_is_shown_can_be_read_again(config: Path) -> None:
    settings = Settings.load(profile="enterprise", environ=NOTHING)

    again = load_text(config, yaml.safe_dump(settings.as_mapping() | {"data": "/d"}))

    assert again.as_mapping() == settings.as_mapping() | {"data": "/d"}
