# A step of the flow 'contract'. It calls the service and returns its answer; a failure that may pass is `Retryable`.
import json
import os
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


def main(server: str, key: str, document: str, vertical: str, filename: str) -> dict:
    body = {"pdfBase64": document, "verticalSlug": vertical, "filename": filename}
    names = ("WM_ROOT_FLOW_JOB_ID", "WM_FLOW_JOB_ID", "WM_JOB_ID")
    runs = [os.environ.get(name) for name in names]  # noqa: TID251 - those of Windmill's worker
    body["jobId"] = next((run for run in runs if run), "")
    given = {name: value for name, value in body.items() if value}
    return call(server, key, "/workflows/ingest", given)
