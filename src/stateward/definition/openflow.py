"""A state machine as a Windmill flow (OpenFlow): the calls that drive it from outside, and the scripts that make them.

The service owns the state, the flow owns the order: each step is one call that runs the stages up to the next external
one and answers with the new state. Only a machine with external stages can be driven that way. The scripts use
Python's standard library alone; a failure that may pass is raised as `Retryable`, and only that is retried.
"""

from collections.abc import Mapping

from stateward.core.errors import InvalidRequest
from stateward.core.machine import Machine, Review, Stage
from stateward.core.model import Fields, Json
from stateward.definition.plugin import Flow

FLOW_FILE = "flow.yaml"
FIRST, GATE, ASK, AGAIN, DECIDED = "ingest", "gate", "ask", "again", "decided"
BACKOFF_S = 10
CALL = '''\
# A step of the flow {machine!r}. It calls the service and returns its answer; a failure that may pass is `Retryable`.
import json
{imports}import urllib.error
import urllib.request


class Retryable(Exception):
    """The service says that the same call may succeed later."""


class Refused(Exception):
    """The service refused the call, and would refuse it again."""


def call(server: str, key: str, path: str, body: dict) -> dict:
    headers = {{"Content-Type": "application/json"}}
    if key:
        headers["Authorization"] = f"Bearer {{key}}"
    data = json.dumps(body).encode()
    request = urllib.request.Request(server.rstrip("/") + path, data, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout={timeout_s}) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        said = error.read(100_000).decode("utf-8", "replace")
        kind = Retryable if is_retryable(error.code, said) else Refused
        raise kind(f"{{error.code}}: {{said}}") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise Retryable(f"the service does not answer: {{error}}") from error


def is_retryable(status: int, said: str) -> bool:
    try:
        return bool(json.loads(said).get("retryable", status in (429, 502, 503, 504)))
    except (ValueError, AttributeError):
        return status in (429, 502, 503, 504)


'''
INGEST_MAIN = """\
def main(server: str, key: str, document: str{parameters}) -> dict:
    body = {{"{document_key}": document{entries}}}
{run}    given = {{name: value for name, value in body.items() if value}}
    return call(server, key, "{path}/ingest", given)
"""
RUN = """\
    names = ("WM_ROOT_FLOW_JOB_ID", "WM_FLOW_JOB_ID", "WM_JOB_ID")
    runs = [os.environ.get(name) for name in names]  # noqa: TID251 - those of Windmill's worker
    body["{run_key}"] = next((run for run in runs if run), "")
"""
STEP_MAIN = """\
def main(server: str, key: str, workflow: str) -> dict:
    return call(server, key, f"{path}/{{workflow}}/{step}", {{}})
"""
REVIEW_MAIN = '''\
# What the person can do better: a value that cannot be one, a field that there is not, an answer that is incomplete.
CORRECTABLE = ("invalid-correction", "unknown-value", "unprocessable", "invalid-request")


def main(
    server: str, key: str, workflow: str, resume: dict | None, approvers: list | None, is_last: bool
) -> dict:
    said = decision(resume or {{}})
    names = [str(each) for each in approvers or () if each]
    if names and said["action"] != "timeout":
        said["reviewer"] = ", ".join(names)[:200]
    try:
        return call(server, key, f"{path}/{{workflow}}/review", said)
    except Refused as refused:
        problem = problem_of(refused)
        if is_last or str(problem.get("type", "")).rpartition(":")[2] not in CORRECTABLE:
            raise
        return {{"refused": problem, "decision": said}}


def problem_of(refused: Refused) -> dict:
    try:
        problem = json.loads(str(refused).partition(": ")[2])
    except ValueError:
        return {{}}
    return problem if isinstance(problem, dict) else {{}}


def decision(resume: dict) -> dict:
    """The answer of the form, or what happened instead: the deadline passed, or "disapprove" was pressed."""
    error = resume.get("error") or {{}}
    if error.get("name") == "SuspendedTimedOut":
        return {{"action": "timeout", "notes": "the form in Windmill was not answered in its time"}}
    if error:
        return {{"action": "reject", "notes": error.get("message") or "disapproved"}}
    said = {{name: resume.get(name) for name in ("action", "correctedData", "notes")}}
    given = {{name: value for name, value in said.items() if value}}
    return {{"action": "", **given}}
'''
ASK_SCRIPT = """\
# Shows what a person decides on, and the addresses at which the flow can be resumed. The form has no answer in it: a
# decision is made, not taken over. The second time it shows what was refused, and holds what was written.
import wmill


def main(extracted: dict, refused: dict | None = None) -> dict:
    shown = {"extracted": extracted}
    if refused:
        shown |= {"refused": refused.get("refused"), "default_args": refused.get("decision")}
    return {**wmill.get_resume_urls(), **shown}
"""
DECIDED_SCRIPT = """\
# The decision stands as it was reported.
def main(decided: dict) -> dict:
    return decided
"""


def to_openflow(machine: Machine, calls_at: Flow | None) -> tuple[Fields, dict[str, str]]:
    """The flow, whose steps name their scripts by file, and the text of each of these files.

    `calls_at` is what its pipeline declares of the calls: their path, and what is sent with a document.
    """
    calls = [stage for stage in machine.stages if stage.is_external]
    if not calls:
        raise InvalidRequest(
            f"{machine.name} has no external stages, so there is nothing for a flow to call; "
            "mark the stages that an external driver starts with `external: true`"
        )
    if calls_at is None:
        raise InvalidRequest(f"the pipeline of {machine.name} declares no calls for a flow")
    imports = "import os\n" if calls_at.run_key else ""
    first = _call_script(machine, calls[0], imports=imports) + _ingest_script(calls_at)
    scripts = {_file(FIRST): first}
    modules: list[Json] = [_first(machine, calls_at)]
    for place, stage in enumerate(calls[1:], start=1):
        is_last = place == len(calls) - 1
        review = _review_before(machine, stage)
        if review is not None:
            modules.append(_gate(calls[place - 1], review))
            scripts[_file(ASK)] = ASK_SCRIPT
            scripts[_file(DECIDED)] = DECIDED_SCRIPT
            scripts[_file(review.name)] = _call_script(machine, stage) + REVIEW_MAIN.format(
                path=calls_at.path
            )
        modules.append(_step(machine, stage, has_gate=review is not None, is_last=is_last))
        scripts[_file(stage.name)] = _call_script(machine, stage) + STEP_MAIN.format(
            path=calls_at.path, step=stage.name
        )
    flow: Fields = {
        "summary": f"Stateward: {machine.name}",
        "description": machine.doc,
        "value": {"modules": modules},
        "schema": _inputs(calls_at),
    }
    return flow, scripts


def inline_scripts(flow: Fields, scripts: Mapping[str, str]) -> Fields:
    """The same flow as one document, with the text of each script in place of its file name."""

    def put(value: Json) -> Json:
        if isinstance(value, dict):
            return {name: put(each) for name, each in value.items()}
        if isinstance(value, list):
            return [put(each) for each in value]
        if isinstance(value, str) and value.startswith("!inline "):
            return scripts[value.removeprefix("!inline ")]
        return value

    return {name: put(value) for name, value in flow.items()}


def _file(step: str) -> str:
    return f"{step}.inline_script.py"


def _call_script(machine: Machine, stage: Stage, *, imports: str = "") -> str:
    # The service itself ends a step that takes too long; the call waits a little longer than that.
    timeout_s = round(stage.timeout_s) + 60
    return CALL.format(machine=machine.name, timeout_s=timeout_s, imports=imports)


def _script(step: str, inputs: Mapping[str, str]) -> Fields:
    return {
        "type": "rawscript",
        "language": "python3",
        "content": f"!inline {_file(step)}",
        "input_transforms": {
            name: {"type": "javascript", "expr": expression} for name, expression in inputs.items()
        },
    }


CONNECTION = {"server": "flow_input.server", "key": "flow_input.key"}
CALLED = {**CONNECTION, "workflow": f"results.{FIRST}.workflowId"}


def _ingest_script(calls_at: Flow) -> str:
    return INGEST_MAIN.format(
        path=calls_at.path,
        run=RUN.format(run_key=calls_at.run_key) if calls_at.run_key else "",
        document_key=calls_at.document_key,
        parameters="".join(f", {each.name}: str" for each in calls_at.inputs),
        entries="".join(f', "{each.key}": {each.name}' for each in calls_at.inputs),
    )


def _first(machine: Machine, calls_at: Flow) -> Fields:
    """The submission is not retried: the sender of the document sees at once that it failed."""
    names = ("document", *(each.name for each in calls_at.inputs))
    given = {name: f"flow_input.{name}" for name in names}
    return {
        "id": FIRST,
        "summary": f"Submit the document and run {machine.stages[0].name}",
        "value": _script(FIRST, {**CONNECTION, **given}),
    }


def _step(machine: Machine, stage: Stage, *, has_gate: bool, is_last: bool) -> Fields:
    step: Fields = {
        "id": stage.name,
        "summary": f"Run {stage.name}",
        "value": _script(stage.name, CALLED),
        "retry": _retry(machine, is_last=is_last),
    }
    if has_gate:  # after a person's decision only accepted documents go on
        step["skip_if"] = {
            "expr": f"Boolean(results.{GATE}?.status) && results.{GATE}.status !== '{stage.from_state}'"
        }
    return step


def _retry(machine: Machine, *, is_last: bool) -> Fields:
    rule: Fields = (
        {"constant": {"attempts": 1, "seconds": BACKOFF_S}}
        if is_last
        else {
            "exponential": {
                "attempts": machine.retry.max_retries,
                "multiplier": 2,  # times 5, 25 and 125 s
                "seconds": 5,
                "random_factor": 20,
            }
        }
    )
    return {**rule, "retry_if": {"expr": "error?.name === 'Retryable'"}}


def _review_before(machine: Machine, stage: Stage) -> Review | None:
    """The review before a stage: the one of which some answer leads there."""
    return next(
        (review for review in machine.reviews if stage.from_state in review.outcomes.values()), None
    )


def _gate(stage: Stage, review: Review) -> Fields:
    return {
        "id": GATE,
        "summary": "Ask a person where one is needed",
        "value": {
            "type": "branchone",
            "branches": [
                {
                    "summary": "A person decides",
                    "expr": f"results.{stage.name}.needsReview",
                    "modules": [
                        _ask(stage, review),
                        _decision_step(review),
                        _again(stage, review),
                    ],
                }
            ],
            "default": [],
        },
    }


def _again(stage: Stage, review: Review) -> Fields:
    """A decision that the service refused comes back as a second form; the second one is the last."""
    keep: Fields = {
        "id": DECIDED,
        "summary": "Keep the decision",
        "value": _script(DECIDED, {"decided": f"results.{review.name}"}),
    }
    return {
        "id": AGAIN,
        "summary": "Ask again where the decision was refused",
        "value": {
            "type": "branchone",
            "branches": [
                {
                    "summary": "The decision was refused",
                    "expr": f"Boolean(results.{review.name}.refused)",
                    "modules": [
                        _ask(stage, review, is_again=True),
                        _decision_step(review, is_again=True),
                    ],
                }
            ],
            "default": [keep],
        },
    }


def _ask(stage: Stage, review: Review, *, is_again: bool = False) -> Fields:
    shown = {"extracted": f"results.{stage.name}"}
    if is_again:
        shown["refused"] = f"results.{review.name}"
    return {
        "id": f"{ASK}_{AGAIN}" if is_again else ASK,
        "summary": "Wait for a decision",
        "value": _script(ASK, shown),
        "suspend": {
            "required_events": 1,
            "timeout": round(review.timeout_s),
            "resume_form": {"schema": _form()},
            "continue_on_disapprove_timeout": True,
        },
    }


def _decision_step(review: Review, *, is_again: bool = False) -> Fields:
    given = {**CALLED, "resume": "resume", "approvers": "approvers"}
    given["is_last"] = "true" if is_again else "false"
    return {
        "id": f"{review.name}_{AGAIN}" if is_again else review.name,
        "summary": "Report the decision to the service",
        "value": _script(review.name, given),
        "retry": {
            "constant": {"attempts": 3, "seconds": BACKOFF_S},
            "retry_if": {"expr": "error?.name === 'Retryable'"},
        },
    }


def _form() -> Fields:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["action"],
        "order": ["action", "correctedData", "notes"],
        "properties": {
            "action": {
                "type": "string",
                "enum": ["approve", "correct", "reject"],
                "description": "What becomes of it",
            },
            "correctedData": {
                "type": "object",
                "description": "With `correct`: the fields that were read wrongly, with their right values",
            },
            "notes": {"type": "string", "description": "Why; needed to reject"},
        },
    }


def _inputs(calls_at: Flow) -> Fields:
    texts = {
        "server": "The address of Stateward",
        "key": "An API key of it; empty where it needs none",
        "document": "The document",
        **{each.name: each.doc for each in calls_at.inputs},
    }
    properties: Fields = {
        name: {"type": "string", "description": sentence, "default": ""}
        for name, sentence in texts.items()
    }
    properties["key"] = {
        "type": "string",
        "description": texts["key"],
        "default": "",
        "password": True,
    }
    # Windmill shows a file picker for base64.
    properties["document"] = {
        "type": "string",
        "description": texts["document"],
        "contentEncoding": "base64",
    }
    for each in calls_at.inputs:
        if each.choices:
            properties[each.name] = {
                "type": "string",
                "description": each.doc,
                "enum": ["", *each.choices],
                "default": "",
            }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["server", "document"],
        "order": list(texts),
        "properties": properties,
    }
