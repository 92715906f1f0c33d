"""Every refusal of settings names its file, its line and what to write."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.core.errors import DeclarationError
from stateward.definition import discovery, plain_values
from stateward.settings import Settings, load, mask_secrets, sources
from tests.settings.config_files import NOTHING, UPLOAD_STATES, load_text


def faults_of(config: Path, text: str, **variables: str) -> list[str]:
    with pytest.raises(DeclarationError) as refused:
        load_text(config, text, **variables)
    return [str(fault).removeprefix(f"{config.parent}{os.sep}") for fault in refused.value.faults]


# Refusals


# Every installed pipeline with options has a section.
SECTIONS = ", ".join(
    sorted(
        each.plugin.name
        for each in discovery.installed_plugins()
        if each.plugin.options is not None
    )
)


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
        ("notifications:\n  admin_email: unknown", "2: notifications.admin_email: admin_email must be an e-mail "
         "address or null, not 'unknown'"),
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
        ("upload_record:\n  retry:\n    source_types:\n"
         "      - {source_type: a, max_retries: 1}\n      - {source_type: a, max_retries: 2}",
         "3: upload_record.retry.source_types: source_types names a twice"),
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
         "profile, data, store, artifacts, worker, coordinator, transport, limits, api, server, notifications, feed, "
         "telemetry, ledger, backup, retention, anchors, reviews, watch, pipelines, <machine>_record, " + SECTIONS),
        ("records: {}", "1: records: records is not a known key; known are profile, data, store, artifacts, "
         "worker, coordinator, transport, limits, api, server, notifications, feed, telemetry, ledger, backup, "
         "retention, anchors, reviews, watch, pipelines, <machine>_record, " + SECTIONS),
        ("contracts: {extractor: both, model: {name: m}}", "1: contracts.extractor: the extractor both needs "
         "contracts.model.base_url"),
        ("contracts:\n  model: {base_url: 'ftp://h/'}", "2: contracts.model.base_url: base_url must be http or https, "
         "with a host and without credentials"),
        ("contracts:\n  model: {key: 'sk-ü'}", "2: contracts.model.key: key must be printable ASCII characters"),
        ("[1]", "1: the whole document must be a mapping, not a list of 1 item"),
        ("a: 1\na: 2", "2: a: the key 'a' is already used on line 1"),
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
        "STATEWARD_STORE_URL",
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
    broken = plain_values.read_python({"worker": 5}, source="broken.yaml")
    monkeypatch.setattr(load, "profile_layers", lambda *_: [broken])

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


# States


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
    assert settings.check_states("unknown", ["a", "b"]) == []


def test_a_fault_in_a_profile_names_the_profile() -> None:
    settings = Settings.load(profile="business", environ=NOTHING)

    faults = settings.check_states("upload", UPLOAD_STATES[:-1])

    assert [str(fault) for fault in faults] == [
        "stateward/pipelines/uploads/profiles/business.yaml:3: upload_record.states: states must be those of the "
        f"machine upload (not among them: {UPLOAD_STATES[-1]})"
    ]


def test_a_machine_may_gain_states_that_a_shipped_profile_does_not_list() -> None:
    settings = Settings.load(profile="business", environ=NOTHING)

    faults = settings.check_states("upload", [*UPLOAD_STATES, "categorizing", "categorized"])

    assert faults == []


def test_what_does_not_fit_together_is_told_with_what_cannot_be_read(config: Path) -> None:
    text = """
api: {port: -1}
contract_record:
  review: {approvals: 0}
  retry: {max_retries: 3, backoff_seconds: [-5]}
upload_record: {priority_queue: {preemption: true}}
foo: 3
"""

    found = [each.split(": ")[:2] for each in faults_of(config, text)]

    assert [(int(where.split(":")[1]), path) for where, path in found] == [
        (2, "api.port"),
        (4, "contract_record.review.approvals"),
        (5, "contract_record.retry.backoff_seconds[0]"),
        (6, "upload_record.priority_queue.preemption"),
        (7, "foo"),
    ]


def test_a_fault_that_no_layer_speaks_of_is_the_settings_own() -> None:
    assert str(Settings().fault(("worker", "prefetch"), "no")) == "settings: worker.prefetch: no"


# Passwords


def test_passwords_are_never_shown(config: Path) -> None:
    text = """
store: {url: "postgresql://u:hidden@h/db?sslpassword=hidden&x=1"}
notifications: {admin_email: a@b.c, smtp_url: "smtps://mail%40b.c:hidden@mail.b.c:465"}
contracts: {model: {key: sk-hidden}}
"""

    settings = load_text(config, text)

    store = settings.as_mapping()["store"]
    assert isinstance(store, dict)
    assert store["url"] == "postgresql://u:***@h/db?sslpassword=***&x=1"
    notifications = settings.as_mapping()["notifications"]
    assert isinstance(notifications, dict)
    assert notifications["admin_email"] == "a@b.c"
    assert notifications["smtp_url"] == "smtps://mail%40b.c:***@mail.b.c:465"
    contracts = settings.as_mapping()["contracts"]
    assert isinstance(contracts, dict)
    assert contracts["model"]["key"] == "***"
    said = f"{settings!r} {settings} {settings.store} {settings.notifications} {settings.options}"
    assert "hidden" not in said


@given(st.text(min_size=4).filter(lambda text: text not in "postgresql://user:***@host/db"))
def test_no_password_whatever_it_holds_is_shown(password: str) -> None:
    assert mask_secrets(f"postgresql://user:{password}@host/db") == "postgresql://user:***@host/db"


@pytest.mark.parametrize("text", ["sqlite:", "https://h/x?a=b", "smtp://user@host", "a@b.c"])
def test_text_without_a_password_is_shown_as_it_is(text: str) -> None:
    assert mask_secrets(text) == text
