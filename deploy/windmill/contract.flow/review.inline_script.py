# A step of the flow 'contract'. It calls the service and returns its answer; a failure that may pass is `Retryable`.
import json
import urllib.error
import urllib.request


class Retryable(Exception):
    """The service says that the same call may succeed later."""


class Refused(Exception):
    """The service refused the call, and would refuse it again."""


def call(server: str, key: str, path: str, body: dict) -> dict:
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    data = json.dumps(body).encode()
    request = urllib.request.Request(server.rstrip("/") + path, data, headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=360) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        said = error.read(100_000).decode("utf-8", "replace")
        kind = Retryable if is_retryable(error.code, said) else Refused
        raise kind(f"{error.code}: {said}") from error
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise Retryable(f"the service does not answer: {error}") from error


def is_retryable(status: int, said: str) -> bool:
    try:
        return bool(json.loads(said).get("retryable", status in (429, 502, 503, 504)))
    except (ValueError, AttributeError):
        return status in (429, 502, 503, 504)


# What the person can do better: a value that cannot be one, a field that there is not, an answer that is incomplete.
CORRECTABLE = ("invalid-correction", "unknown-value", "unprocessable", "invalid-request")


def main(
    server: str, key: str, workflow: str, resume: dict | None, approvers: list | None, is_last: bool
) -> dict:
    said = decision(resume or {})
    names = [str(each) for each in approvers or () if each]
    if names and said["action"] != "timeout":
        said["reviewer"] = ", ".join(names)[:200]
    try:
        return call(server, key, f"/workflows/{workflow}/review", said)
    except Refused as refused:
        problem = problem_of(refused)
        if is_last or str(problem.get("type", "")).rpartition(":")[2] not in CORRECTABLE:
            raise
        return {"refused": problem, "decision": said}


def problem_of(refused: Refused) -> dict:
    try:
        problem = json.loads(str(refused).partition(": ")[2])
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def decision(resume: dict) -> dict:
    """The answer of the form, or what happened instead: the deadline passed, or "disapprove" was pressed."""
    error = resume.get("error") or {}
    if error.get("name") == "SuspendedTimedOut":
        return {"action": "timeout", "notes": "the form in Windmill was not answered in its time"}
    if error:
        return {"action": "reject", "notes": error.get("message") or "disapproved"}
    said = {name: resume.get(name) for name in ("action", "correctedData", "notes")}
    given = {name: value for name, value in said.items() if value}
    return {"action": "", **given}
