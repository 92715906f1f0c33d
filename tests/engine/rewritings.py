"""Rewritings of a history, from one cell to the whole database, and what finds each of them."""

from typing import NamedTuple

from tests.engine import edits, hidden_edits
from tests.engine.forger import Edit, Forger, nothing

ALONE, CHECKPOINT = "`verify`", "`verify --checkpoint`"
UNSEALED, ROWS, RECORDS, ALL = (
    "nothing", "its own hash", "the chains of records", "the whole database",
)  # fmt: skip
SEALS: dict[str, Edit] = {
    UNSEALED: nothing,
    ROWS: Forger.seal_rows,
    RECORDS: Forger.seal_records,
    ALL: Forger.seal_all,
}


class Rewriting(NamedTuple):
    """What is changed, what is computed anew, what finds it, and the checks that say so."""

    what: str
    edit: Edit
    sealed: str
    found_by: str
    checks: set[str]


REWRITINGS = [
    Rewriting("who made a transition", edits.actor, UNSEALED, ALONE, {"hash"}),
    Rewriting("who made a transition", edits.actor, ROWS, ALONE, {"chain", "lane"}),
    Rewriting("who made a transition", edits.actor, RECORDS, ALONE, {"lane"}),
    Rewriting("who made a transition", edits.actor, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("why a transition was made", edits.reason, UNSEALED, ALONE, {"hash"}),
    Rewriting("why a transition was made", edits.reason, ROWS, ALONE, {"chain", "lane"}),
    Rewriting("why a transition was made", edits.reason, RECORDS, ALONE, {"lane"}),
    Rewriting("why a transition was made", edits.reason, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("when a transition was made", edits.time, UNSEALED, ALONE, {"hash"}),
    Rewriting("when a transition was made", edits.time, RECORDS, ALONE, {"lane"}),
    Rewriting("when a transition was made", edits.time, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("a label of a record", edits.label, UNSEALED, ALONE, {"record"}),
    Rewriting("a label of a record", edits.label, RECORDS, ALONE, {"lane"}),
    Rewriting("a label of a record", edits.label, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("which document a record is of", edits.document, UNSEALED, ALONE, {"record"}),
    Rewriting("which document a record is of", edits.document, RECORDS, ALONE, {"lane"}),
    Rewriting("which document a record is of", edits.document, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("a fact about a record", edits.field, UNSEALED, ALONE, {"record"}),
    Rewriting("a fact about a record", edits.field, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting(
        "the last transition is cut off", edits.cut_the_end, UNSEALED, ALONE, {"lane", "status"}
    ),
    Rewriting("the last transition is cut off", edits.cut_the_end, ALL, ALONE, {"status"}),
    Rewriting("a record disappears", edits.cut_a_record, UNSEALED, ALONE, {"lane"}),
    Rewriting("a record disappears", edits.cut_a_record, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("a record is invented", edits.double, RECORDS, ALONE, {"lane"}),
    Rewriting("two commits change places", edits.swap, UNSEALED, ALONE, {"lane"}),
    Rewriting("two commits change places", edits.swap, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("every person's name", edits.rename, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("the labels of all records but one", edits.relabel, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("every time", edits.shift, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("everything is deleted", edits.empty, UNSEALED, ALONE, {"lane"}),
    Rewriting("everything is deleted", edits.empty, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("the head of a lane", edits.head, UNSEALED, ALONE, {"lane"}),
    Rewriting("a lane is deleted", edits.fewer, UNSEALED, ALONE, {"lane"}),
    Rewriting("the lanes become one", edits.one_lane, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("an item that a stage produced", edits.item, UNSEALED, ALONE, {"output"}),
    Rewriting("an item that a stage produced", edits.item_sealed, ALL, CHECKPOINT, {"checkpoint"}),
    Rewriting("items are deleted", edits.items_gone, UNSEALED, ALONE, {"output"}),
    Rewriting("items are doubled", edits.items_doubled, UNSEALED, ALONE, {"output"}),
    Rewriting("a derived file is added", edits.file, UNSEALED, ALONE, {"output"}),
    Rewriting("the log of an attempt", edits.log, UNSEALED, ALONE, {"log"}),
    Rewriting("the result of an attempt", edits.result, UNSEALED, ALONE, {"output"}),
    Rewriting(
        "the result of an attempt is deleted", edits.result_gone, UNSEALED, ALONE, {"output"}
    ),
    Rewriting(
        "the result of an attempt is invented", edits.result_invented, UNSEALED, ALONE, {"output"}
    ),
    Rewriting("the definition of a machine", edits.definition, UNSEALED, ALONE, {"machine"}),
    Rewriting("a machine is invented", edits.machine_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an event that changed nothing", edits.event, UNSEALED, ALONE, {"sealed"}),
    Rewriting(
        "an event that changed nothing is deleted", edits.event_gone, UNSEALED, ALONE, {"sealed"}
    ),
    Rewriting(
        "an event that changed nothing is doubled", edits.event_doubled, UNSEALED, ALONE, {"sealed"}
    ),
    Rewriting(
        "an event that changed nothing is deleted", edits.event_sealed, ALL, CHECKPOINT, {"audit"}
    ),
    Rewriting("a dead letter", edits.letter, UNSEALED, ALONE, {"sealed"}),
    Rewriting("a dead letter is deleted", edits.letter_gone, UNSEALED, ALONE, {"sealed"}),
    Rewriting("a dead letter is invented", edits.letter_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an edition of items", edits.edition, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an edition is deleted", edits.edition_gone, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an edition is invented", edits.edition_doubled, UNSEALED, ALONE, {"sealed"}),
    Rewriting("who did an administrative act", edits.act, UNSEALED, ALONE, {"audit"}),
    Rewriting("who did an administrative act", edits.act_sealed, ALL, CHECKPOINT, {"audit"}),
    Rewriting("an administrative act is invented", edits.act_invented, UNSEALED, ALONE, {"audit"}),
    Rewriting("a hold is invented", edits.hold_invented, UNSEALED, ALONE, {"act"}),
    Rewriting(
        "a decision about flags is invented", edits.decision_invented, UNSEALED, ALONE, {"act"}
    ),
    Rewriting("a key of the API is invented", edits.key_invented, UNSEALED, ALONE, {"act"}),
    Rewriting("the priority of a record", edits.priority, UNSEALED, ALONE, {"act"}),
    Rewriting("a pause is deleted", edits.pause_gone, UNSEALED, ALONE, {"sealed"}),
    Rewriting("a pause is deleted", edits.pause_gone, ALL, CHECKPOINT, {"audit"}),
    Rewriting("a webhook is invented", edits.webhook_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting(
        "a credential of a worker is invented", edits.worker_invented, UNSEALED, ALONE, {"sealed"}
    ),
    Rewriting(
        "a pending decision is invented", edits.pending_invented, UNSEALED, ALONE, {"sealed"}
    ),
    Rewriting("an approver link is invented", edits.link_invented, UNSEALED, ALONE, {"sealed"}),
    Rewriting("an acknowledgement is invented", edits.acknowledged, UNSEALED, ALONE, {"sealed"}),
    Rewriting("from when on there are lanes", edits.since, UNSEALED, ALONE, {"sealed"}),
    Rewriting(
        "items of no output are planted", edits.items_of_nothing, UNSEALED, ALONE, {"output"}
    ),
    Rewriting("the numbers of chunks", edits.items_moved, UNSEALED, ALONE, {"output"}),
    Rewriting("a file of no output is planted", edits.file_of_nothing, UNSEALED, ALONE, {"output"}),
    Rewriting(
        "a result beyond the record's version is planted",
        edits.result_beyond,
        UNSEALED,
        ALONE,
        {"output"},
    ),
    Rewriting(
        "a result of an ended record is planted", edits.result_at_end, UNSEALED, ALONE, {"output"}
    ),
    Rewriting(
        "a result of a cancelled attempt is planted",
        edits.result_of_loss,
        UNSEALED,
        ALONE,
        {"output"},
    ),
    Rewriting("the numbers of the log, by one distance", edits.numbers, UNSEALED, ALONE, {"order"}),
    Rewriting(
        "the number of the last transition", edits.number_of_last, UNSEALED, ALONE, {"order"}
    ),
    Rewriting("a hash of a tree is planted", edits.tree_planted, UNSEALED, ALONE, {"tree"}),
    Rewriting("a hash of no tree is planted", edits.tree_of_nothing, UNSEALED, ALONE, {"tree"}),
    Rewriting("the epoch of all lanes rises", edits.epoch_risen, UNSEALED, ALONE, {"epoch"}),
    Rewriting("the epoch of all lanes falls", edits.epoch_fallen, UNSEALED, ALONE, {"epoch"}),
    Rewriting("the epoch of one lane", edits.epoch_of_one, UNSEALED, ALONE, {"epoch"}),
    Rewriting(
        "an act is planted behind the head", edits.act_behind_head, UNSEALED, ALONE, {"audit"}
    ),
    Rewriting("the order of two acts", edits.acts_swapped, UNSEALED, ALONE, {"audit"}),
    Rewriting("the last act is cut off", edits.act_cut, UNSEALED, ALONE, {"audit"}),
    Rewriting("the last act is cut off", edits.act_cut_with_head, ALL, CHECKPOINT, {"audit"}),
    Rewriting("the salt of a transition", edits.salt_of_transition, UNSEALED, ALONE, {"hash"}),
    Rewriting("the salt of an event", edits.salt_of_event, UNSEALED, ALONE, {"sealed"}),
    Rewriting("words are erased by no one", edits.erased_words, UNSEALED, ALONE, {"erased"}),
    Rewriting("how often a record was retried", edits.retries, UNSEALED, ALONE, {"record"}),
    Rewriting(
        "which machine a record follows", edits.machine_of_record, UNSEALED, ALONE, {"record"}
    ),
    Rewriting(
        "which attempts of a record count", edits.output_of_record, UNSEALED, ALONE, {"record"}
    ),
    Rewriting("the status of a record", edits.status, UNSEALED, ALONE, {"record", "status"}),
    Rewriting("who paused a stage", edits.pause_of_another, UNSEALED, ALONE, {"sealed"}),
    Rewriting("the letters of a hash", edits.hash_as_text, UNSEALED, ALONE, {"hash"}),
    Rewriting(
        "a key of the labels is doubled", hidden_edits.labels_doubled, UNSEALED, ALONE, {"text"}
    ),
    Rewriting(
        "a key of the metadata is doubled", hidden_edits.metadata_doubled, UNSEALED, ALONE, {"text"}
    ),
    Rewriting(
        "a key of an act is doubled", hidden_edits.detail_doubled, UNSEALED, ALONE, {"audit"}
    ),
    Rewriting(
        "a record is invented before all",
        hidden_edits.record_before_first,
        RECORDS,
        ALONE,
        {"order"},
    ),
    Rewriting(
        "a record without an id is planted",
        hidden_edits.record_without_id,
        RECORDS,
        ALONE,
        {"order"},
    ),
    Rewriting(
        "an event is planted before the first one",
        hidden_edits.event_before_first,
        UNSEALED,
        ALONE,
        {"order"},
    ),
    Rewriting(
        "a dead letter is planted before the first one",
        hidden_edits.letter_before_first,
        UNSEALED,
        ALONE,
        {"order"},
    ),
    Rewriting(
        "an act is planted before the first one, with a hold",
        hidden_edits.act_before_first,
        UNSEALED,
        ALONE,
        {"order"},
    ),
    Rewriting(
        "the numbers of all acts", hidden_edits.acts_before_first, UNSEALED, ALONE, {"order"}
    ),
    Rewriting(
        "a result of no record is planted",
        hidden_edits.result_of_nobody,
        UNSEALED,
        ALONE,
        {"output"},
    ),
    Rewriting(
        "items are planted before the first ones",
        hidden_edits.items_before_first,
        UNSEALED,
        ALONE,
        {"output"},
    ),
    Rewriting(
        "items of no edition are planted",
        hidden_edits.items_of_no_edition,
        UNSEALED,
        ALONE,
        {"output"},
    ),
    Rewriting(
        "the definition of a machine with its digest",
        hidden_edits.definition_with_digest,
        UNSEALED,
        ALONE,
        {"machine", "sealed"},
    ),
    Rewriting("an act is deleted", hidden_edits.act_gone, UNSEALED, ALONE, {"audit"}),
    Rewriting("an act is deleted", hidden_edits.act_gone_sealed, ALL, CHECKPOINT, {"audit"}),
    Rewriting(
        "a transition moves to another record",
        hidden_edits.transition_moved,
        UNSEALED,
        ALONE,
        {"hash"},
    ),
    Rewriting("a record gets another id", hidden_edits.record_renamed, RECORDS, ALONE, {"lane"}),
    Rewriting(
        "which event a transition was made of",
        hidden_edits.event_of_another,
        UNSEALED,
        ALONE,
        {"hash"},
    ),
    Rewriting(
        "the newest commits are rolled back",
        hidden_edits.commits_rolled_back,
        ALL,
        CHECKPOINT,
        {"checkpoint"},
    ),
    Rewriting(
        "items move to another attempt", hidden_edits.items_to_another, UNSEALED, ALONE, {"output"}
    ),
    Rewriting("when an act was done", hidden_edits.time_of_act, UNSEALED, ALONE, {"audit"}),
    Rewriting(
        "when a transition was made, to no time", hidden_edits.no_time, UNSEALED, ALONE, {"hash"}
    ),
    Rewriting("a trigger is planted", hidden_edits.trigger, UNSEALED, ALONE, {"database"}),
    Rewriting("what a trigger does", hidden_edits.own_trigger, UNSEALED, ALONE, {"database"}),
    Rewriting(
        "what an index leaves out", hidden_edits.partial_index, UNSEALED, ALONE, {"database"}
    ),
    Rewriting("entries of an index", hidden_edits.index_entries, UNSEALED, ALONE, {"database"}),
    Rewriting(
        "that no event counts twice", hidden_edits.no_unique_index, UNSEALED, ALONE, {"database"}
    ),
    Rewriting(
        "an index that refuses rows is planted",
        hidden_edits.unique_index,
        UNSEALED,
        ALONE,
        {"database"},
    ),
    Rewriting(
        "an index that fails for some rows is planted",
        hidden_edits.failing_index,
        UNSEALED,
        ALONE,
        {"database"},
    ),
    Rewriting(
        "a truth value becomes another number",
        hidden_edits.true_as_two,
        UNSEALED,
        ALONE,
        {"output"},
    ),
    Rewriting(
        "events that changed nothing are called erased",
        hidden_edits.rows_called_erased,
        UNSEALED,
        ALONE,
        {"sealed"},
    ),
    Rewriting(
        "a view takes the place of a table", hidden_edits.view, UNSEALED, ALONE, {"database"}
    ),
    Rewriting(
        "how a table compares texts", hidden_edits.other_collation, UNSEALED, ALONE, {"database"}
    ),
]
