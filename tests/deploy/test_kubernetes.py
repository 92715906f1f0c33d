"""The manifests for Kubernetes are valid by its published schemas, run commands that exist, and keep their promises."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import yaml

from stateward.cli import cli
from stateward.settings import Settings
from stateward.telemetry.metrics import METRICS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
SCHEMAS = json.loads((Path(__file__).parent / "kubernetes-1.37.json").read_text("utf-8"))
KINDS = {
    ("v1", "Namespace"): "io.k8s.api.core.v1.Namespace",
    ("v1", "ServiceAccount"): "io.k8s.api.core.v1.ServiceAccount",
    ("v1", "Service"): "io.k8s.api.core.v1.Service",
    ("apps/v1", "Deployment"): "io.k8s.api.apps.v1.Deployment",
    ("batch/v1", "Job"): "io.k8s.api.batch.v1.Job",
    ("autoscaling/v2", "HorizontalPodAutoscaler"): "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    ("policy/v1", "PodDisruptionBudget"): "io.k8s.api.policy.v1.PodDisruptionBudget",
    ("networking.k8s.io/v1", "NetworkPolicy"): "io.k8s.api.networking.v1.NetworkPolicy",
}  # fmt: skip
COMPONENT = "app.kubernetes.io/component"
STAGE_S_MAX = 600
OPENS_SECRETS = {"api", "coordinator", "notifier"}


def listed() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.yaml.decode((FOLDER / "kustomization.yaml").read_bytes())
    return found


def resources() -> list[dict[str, Any]]:
    texts = [(FOLDER / name).read_text("utf-8") for name in listed()["resources"]]
    return [each for text in texts for each in yaml.safe_load_all(text)]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in resources() if each["kind"] == kind}


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for each in (*of_kind("Deployment").values(), *of_kind("Job").values()):
        template = each["spec"]["template"]
        yield template["metadata"]["labels"][COMPONENT], template["spec"]


def fault_of(resource: dict[str, Any]) -> str | None:
    name = KINDS[resource["apiVersion"], resource["kind"]]
    try:
        jsonschema_rs.validate({"$ref": f"#/$defs/{name}", "$defs": SCHEMAS["$defs"]}, resource)
    except jsonschema_rs.ValidationError as error:
        return str(error)
    return None


def test_every_file_is_listed() -> None:
    own = listed()
    named = {*own["resources"], *own["configMapGenerator"][0]["files"], "kustomization.yaml"}

    assert named == {each.name for each in FOLDER.iterdir()}


@pytest.mark.parametrize(
    "resource", resources(), ids=lambda each: f"{each['kind']}-{each['metadata']['name']}"
)
def test_a_manifest_is_valid_by_the_published_schema(resource: dict[str, Any]) -> None:
    assert fault_of(resource) is None


def test_the_base_can_be_built_by_kustomize_4() -> None:
    """It refuses words that are newer; that selectors have a label says that templates have it too."""
    (labels,) = listed()["labels"]

    assert labels.keys() == {"pairs", "includeSelectors"}


def test_the_schemas_find_a_word_that_is_not_known() -> None:
    wrong = of_kind("PodDisruptionBudget")["stateward-api"]
    wrong["spec"]["minAvail"] = 1

    assert "minAvail" in str(fault_of(wrong))


def test_every_pod_runs_a_command_that_exists_and_may_write_nowhere_else() -> None:
    found = dict(pods())
    assert found.keys() == {"api", "coordinator", "worker", "notifier", "migrate"}
    for role, spec in found.items():
        (container,) = spec["containers"]
        context = cli.make_context("stateward", list(container["args"]), resilient_parsing=True)
        name, command, rest = cli.resolve_command(
            context, [*context._protected_args, *context.args]
        )
        assert command is not None
        command.make_context(name, rest, parent=context)
        assert spec["securityContext"]["runAsNonRoot"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        mounts = {each["mountPath"] for each in container["volumeMounts"]}
        keys = {"/etc/stateward-keys"} if role in OPENS_SECRETS else set()
        assert mounts == {"/etc/stateward", "/var/lib/stateward", "/tmp"} | keys
        assert container["resources"]["limits"]["memory"]


def test_whoever_opens_a_stored_secret_has_the_same_key_file() -> None:
    settings = Settings.load(FOLDER / "stateward.yaml", environ={})
    head = (FOLDER / "kustomization.yaml").read_text("utf-8")

    for role, spec in pods():
        found = [each["secret"] for each in spec["volumes"] if each["name"] == "keys"]
        wanted = [{"secretName": "stateward-keys", "defaultMode": 0o400}]
        assert found == (wanted if role in OPENS_SECRETS else [])
    assert settings.store.secret_key_file == "/etc/stateward-keys/secret.keys"
    assert "create secret generic stateward-keys --from-file=secret.keys" in head


def test_the_settings_are_right_and_copies_fit_into_the_volumes() -> None:
    settings = Settings.load(FOLDER / "stateward.yaml", environ={})

    for role, spec in pods():
        (data,) = [each for each in spec["volumes"] if each["name"] == "data"]
        if role in ("api", "worker"):  # the others read no document
            size = data["emptyDir"]["sizeLimit"]
            assert size.endswith("Gi")
            assert settings.artifacts.cache_bytes_max < int(size[:-2]) << 30
    (api,) = dict(pods())["api"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        (header,) = api[probe]["httpGet"]["httpHeaders"]
        assert header["value"] in settings.api.hosts


def test_workers_grow_with_a_metric_that_exists_and_end_in_peace() -> None:
    (scaler,) = of_kind("HorizontalPodAutoscaler").values()
    (metric,) = scaler["spec"]["metrics"]

    assert metric["external"]["metric"]["name"] in {each.name for each in METRICS}
    assert scaler["spec"]["scaleTargetRef"]["name"] in of_kind("Deployment")
    assert "replicas" not in of_kind("Deployment")["stateward-worker"]["spec"]
    assert dict(pods())["worker"]["terminationGracePeriodSeconds"] > STAGE_S_MAX


def test_every_role_has_a_budget_and_the_network_is_closed_by_default() -> None:
    budgets = of_kind("PodDisruptionBudget").values()
    covered = {each["spec"]["selector"]["matchLabels"][COMPONENT] for each in budgets}
    closed = of_kind("NetworkPolicy")["stateward-deny"]["spec"]

    assert covered == {role for role, _ in pods()} - {"migrate"}
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_the_settings_of_the_shape_to_try_are_right() -> None:
    path = ROOT / "deploy" / "container" / "stateward.scale-out.yaml"

    settings = Settings.load(path, environ={})

    assert (settings.artifacts.url, settings.artifacts.endpoint) == (
        "s3://documents/stateward",
        "http://s3:8333",
    )
    assert settings.feed.url == "nats://nats:4222"
