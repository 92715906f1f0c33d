"""How the child finds and loads the runners of a pipeline."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stateward.workers.sdk import Failed
from tests.workers.children import (
    HOSTILE,
    ChildSlot,
    an_order,
    lines,
    much_later,
    only_item,
    said,
    wait_for,
    wait_for_log,
    with_path,
)


def test_a_pipeline_that_cannot_be_loaded_fails_jobs_and_says_why(
    slot: ChildSlot, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("import no_such_module_at_all\n")
    slot.imports = [str(broken), HOSTILE]

    result = slot.fails("upload.parse")

    assert result.code == "RUNNER_NOT_LOADED"
    assert "there is no runner 'upload.parse'" in result.message
    assert "broken.py cannot be loaded: ModuleNotFoundError" in result.message
    assert "no_such_module_at_all" in lines(result)[0]["traceback"]
    assert len(slot.spawned) == 1


def test_a_name_that_is_not_registered_is_told_with_those_that_are(slot: ChildSlot) -> None:
    result = slot.fails("upload.parse")

    assert "there are: bad." in result.message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import sys; sys.exit('no')", "SystemExit: no"),
        ("import os; os._exit(5)", "the process exited with code 5 while it loaded"),
        ("import os; os.abort()", "the process was killed by SIGABRT while it loaded"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_pipeline_that_ends_the_process_is_told(
    slot: ChildSlot, tmp_path: Path, source: str, message: str
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(source)
    slot.imports = [str(broken)]

    result = slot.run("upload.parse")

    assert isinstance(result, Failed)
    assert result.code == "RUNNER_NOT_LOADED"
    assert message in result.message


def test_a_pipeline_that_never_finishes_loading_is_given_up(
    slot: ChildSlot, tmp_path: Path
) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text("import time; print('loading', flush=True); time.sleep(60)")
    slot.imports = [str(slow)]
    child = slot.idle_child()
    child.start(an_order("upload.parse"))
    wait_for_log(child, "loading")

    result = child.expire(much_later())

    assert isinstance(result, Failed)
    assert result.code == "RUNNER_NOT_LOADED"
    assert result.message == "the pipelines were not loaded within 60 s"
    assert said(result, "output") == ["loading"]


def test_the_time_to_load_is_not_taken_from_the_job(slot: ChildSlot, tmp_path: Path) -> None:
    slow, may_go_on = tmp_path / "slow.py", tmp_path / "go on"
    slow.write_text(
        "import time; from pathlib import Path\nprint('loading', flush=True)\n"
        f"while not Path({str(may_go_on)!r}).exists(): time.sleep(0.01)\n"
        "from neighbour import answer\n"
        "from stateward.workers.sdk import runner\n"
        "@runner('slow.job')\ndef job(job): return {'answer': answer}\n"
    )
    (tmp_path / "neighbour.py").write_text("answer = 42")
    slot.imports = [str(slow)]
    times = [0.0]
    slot.options = {"clock": lambda: times[-1]}
    child = slot.idle_child()
    child.start(an_order("slow.job", timeout_s=5.0))
    wait_for_log(child, "loading")
    times.append(50.0)
    assert child.expire() is None
    may_go_on.touch()

    result = wait_for(child)

    assert only_item(result) == {"answer": 42}


def test_a_module_is_loaded_by_name(slot: ChildSlot) -> None:
    slot.imports = ["stateward.pipelines.statements.runners", "no.such.module"]

    observation = '[{"place":{"line":1},"date":"2026-01-05","amount":"-1.50"}]'
    about = '{"format":"csv","sections":[{"terms":{"date_order":"ymd"},"rows":1}]}'

    result = slot.run("upload.normalize", items={"parse": [observation, about]})

    item = only_item(result)
    assert (item["date"], item["amount"]) == ("2026-01-05", "-1.50")


@pytest.mark.parametrize("command", [["script.py"], ["-m", "script"]])
def test_the_runners_of_a_script_are_found_by_its_children(
    tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "script.py").write_text(
        textwrap.dedent("""
            import time
            from pathlib import Path
            from stateward import App
            from stateward.workers.sdk import Limits, runner
            from stateward.workers.child_attempt import JobOrder
            from stateward.workers.sandbox import Child

            ANSWER = 42

            @runner("my.job")
            def job(job):
                try:
                    App.embedded("other")
                except RuntimeError as refused:
                    return {"answer": ANSWER, "name": __name__, "refused": str(refused)}

            if __name__ == "__main__":
                child = Child.spawn(["__main__"], limits=Limits(), scratch_root=Path("scratch"),
                                    now=lambda: 0)
                child.start(JobOrder(runner="my.job", record_id="UL_1", stage="job", attempt=1,
                                     timeout_s=20))
                while (result := child.on_ready() or child.expire()) is None:
                    time.sleep(0.01)
                print(result.chunks[0].data if hasattr(result, "chunks") else result)
                child.close(wait_s=5)
        """)
    )

    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=with_path(),
        capture_output=True,
        text=True,
        check=True,
    )

    (answer,) = json.loads(done.stdout)
    assert answer["refused"].startswith(
        "a stage runs in a child process, which may not open an App"
    )
    assert (answer["answer"], answer["name"]) == (42, "__mp_main__")


def test_a_script_without_a_guard_is_told_of_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            from stateward import App, Job, Pipeline

            words = Pipeline("words")

            @words.stage
            def count(job: Job):
                return {"words": len(job.text().split())}

            with App.embedded("data", pipelines=[words]) as app:
                record = app.submit(b"to be", machine="words").record
                app.run_until_idle()
                print(app.record(record.id).error_message)
        """)
    )

    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=with_path(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert 'put what opens the App under `if __name__ == "__main__":`' in done.stdout
