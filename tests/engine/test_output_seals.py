"""What attempts leave is sealed in their transitions, on every way that a result can take."""

from msgspec.structs import replace

from stateward.core.files import DerivedFile
from stateward.core.output_seal import LOG_DIGEST, OUTPUT_DIGEST, chunk_digest, seal_output
from stateward.storage.outputs import AttemptResult, Output, result_event
from stateward.testing.rig import Rig

FILE = DerivedFile(name="page.png", media_type="image/png", size=3, sha256="c" * 64)


def leave(rig: Rig, *, log: str = "") -> str:
    """A record whose first attempt left two chunks, a derived file and a log."""
    rig.worker()
    record = rig.open()
    rig.turn()
    (work,) = rig.work()
    mark = AttemptResult(
        record_id=work.record_id,
        version=work.version,
        stage=work.stage,
        worker=work.worker,
        at=rig.clock(),
        count=2,
        facts={"sum": 0.00001},
        log=log,
    )
    with rig.database.transaction():
        rig.bus.finish([work])
        (seal,) = rig.outputs.write([Output(mark, [(1, '[{"n":"ü"}]'), (1, '[{"n":2}]')], [FILE])])
        assert seal == rig.outputs.seal(work.record_id, work.version)
        rig.bus.report([result_event(mark, seal)])
    rig.run()
    return record.id


def test_a_result_with_items_files_and_a_log_is_sealed(rig: Rig) -> None:
    record_id = leave(rig, log='{"message":"read"}\n')

    sealed = [each for each in rig.store.history(record_id) if OUTPUT_DIGEST in each.metadata]
    assert len(sealed) == 2
    assert [LOG_DIGEST in each.metadata for each in sealed] == [True, False]
    verdict = rig.verify()
    assert verdict.is_sound
    assert (verdict.unsealed, verdict.sealed_since is None) == (0, False)


def test_a_result_whose_event_was_lost_is_sealed_when_it_is_found(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.settle()
    (work,) = rig.work()
    rig.write_but_lose_event(work, items=2)
    rig.clock.pass_s(3605)
    rig.settle()

    assert any(OUTPUT_DIGEST in each.metadata for each in rig.store.history(record.id))
    assert rig.verify().is_sound


def test_a_second_output_of_an_attempt_is_not_sealed_as_the_first(rig: Rig) -> None:
    record_id = leave(rig)
    first = rig.outputs.attempts(record_id)[0]

    assert rig.outputs.write([Output(first, [(1, '[{"n":9}]')])]) == [None]
    assert rig.verify().is_sound


def test_outputs_of_a_former_version_are_counted(rig: Rig) -> None:
    rig.worker()
    record = rig.open()
    rig.turn()
    (work,) = rig.work()
    mark = AttemptResult(
        record_id=work.record_id, version=work.version, stage=work.stage, worker="w1", at=1, count=1
    )
    with rig.database.transaction():
        rig.bus.finish([work])
        (seal,) = rig.outputs.write([Output(mark, [(1, "[{}]")])])
        assert seal
        rig.bus.report([replace(result_event(mark, seal), output_digest=None)])
    rig.turn()

    verdict = rig.verify()
    assert verdict.is_sound
    assert verdict.unsealed == 1
    assert OUTPUT_DIGEST not in rig.store.history(record.id)[-1].metadata


def test_the_digest_is_what_the_reference_says() -> None:
    row = ("parse", "done", 1, '{"a":1}', None, None, True, "w1", 5)
    seal = seal_output(row, [chunk_digest(1, "[1]")], [("n", "text/plain", 1, "f")], log="")

    # sha256sum of the text that docs/reference/history.md describes
    assert seal.output == "9cea48daaf49c35ddd673ff1e157de6e9aa281dc15dbfb6a3833b52e37ff435d"
    assert seal.log is None
