-- A store as version 0.1.0 wrote it: two documents normalized, one in error, one waiting. The documents are in test_upgrades.
BEGIN TRANSACTION;
CREATE TABLE acknowledged (
    machine TEXT NOT NULL,
    cause TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (machine, cause)
) STRICT, WITHOUT ROWID;
CREATE TABLE "alerts" (
    id TEXT PRIMARY KEY,
    topic TEXT NOT NULL,
    record_id TEXT NOT NULL,
    machine TEXT NOT NULL,
    facts TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER,
    sent_at INTEGER,
    error TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE anchor (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    count INTEGER NOT NULL,
    head TEXT NOT NULL,
    digest TEXT NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;
INSERT INTO "anchor" VALUES(1,14,'efe600774185800e6237849d02e8cb951825b261318573d386e6be5ab664f341','93f4ad142153ffa292815446201712973d6cb5440332f6ca4f90a6aeb197e2ac',1);
CREATE TABLE answers (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    headers TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    pipelines TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    used_at INTEGER,
    rate_per_minute INTEGER,
    upload_bytes_max INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE "audit_log" (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    verb TEXT NOT NULL,
    record_id TEXT NOT NULL,
    detail TEXT NOT NULL,
    reason TEXT
) STRICT;
CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    verb TEXT NOT NULL,
    status TEXT NOT NULL,
    query TEXT NOT NULL,
    query_at INTEGER NOT NULL,
    ids TEXT NOT NULL,
    pipelines TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    after TEXT NOT NULL,
    expected INTEGER NOT NULL,
    matched INTEGER NOT NULL,
    applied INTEGER NOT NULL,
    refused TEXT NOT NULL,
    examples TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE claims (
    record_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE "counters" (
    metric TEXT NOT NULL,
    labels TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    count INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (metric, labels, bucket)
) STRICT, WITHOUT ROWID;
CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE deliveries (
    webhook_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    record_id TEXT,
    version INTEGER,
    body TEXT NOT NULL,
    trace TEXT,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    due_at INTEGER,
    ended_at INTEGER,
    status INTEGER,
    error TEXT,
    PRIMARY KEY (webhook_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE delivery_attempts (
    webhook_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    url TEXT NOT NULL,
    address TEXT NOT NULL,
    request_headers TEXT NOT NULL,
    status INTEGER,
    error TEXT NOT NULL,
    response_headers TEXT NOT NULL,
    response_body TEXT NOT NULL,
    PRIMARY KEY (webhook_id, message_id, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE dispositions (
    id INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    record_id TEXT NOT NULL,
    version INTEGER,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE effects (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER,
    PRIMARY KEY (record_id, version, kind)
) STRICT, WITHOUT ROWID;
INSERT INTO "effects" VALUES('UL_1jnknjqh0kuagsrerut82uo480capdcu9r40',2,'notify','{"type":"notify","record_id":"UL_1jnknjqh0kuagsrerut82uo480capdcu9r40","version":2,"topic":"failed","facts":{"status":"error","error_code":"UNKNOWN_FORMAT","error_message":"the file is text, but not a table: no comma, semicolon, tab or bar separates cells; export the statement as CSV","retry_count":0}}',1794845909152677,NULL);
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE followers (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "followers" VALUES('metrics',0);
INSERT INTO "followers" VALUES('notifications',5);
CREATE TABLE item_chunks (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    count INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (record_id, version, chunk)
) STRICT, WITHOUT ROWID;
INSERT INTO "item_chunks" VALUES('UL_1jnkng9lg1ergfo26907c52barkki6b015eg',1,0,2,'[{"place":{"line":2},"date":"2026-01-02","description":"a","amount":"12,50"},{"place":{"line":3},"date":"2026-01-03","description":"b","amount":"-3,10"}]');
INSERT INTO "item_chunks" VALUES('UL_1jnkng9lg1ergfo26907c52barkki6b015eg',1,1,0,'{"format":"csv","sections":[{"terms":{"date_order":"ymd","decimal":",","why":{"date_order":"every date shows its own order","decimal":"the decimal sign is a comma: 2 amounts such as ''12,50'' show it","sign":"amounts carry their sign"}},"rows":2}]}');
INSERT INTO "item_chunks" VALUES('UL_1jnkng9lg1ergfo26907c52barkki6b015eg',3,0,2,'[{"id":"tx_3c406801b4effc0effc60949","date":"2026-01-02","amount":"12.50","description":"a","merchant":"a","place":{"line":2}},{"id":"tx_715f0e4ecccfc6d21cb0fe2d","date":"2026-01-03","amount":"-3.10","description":"b","merchant":"b","place":{"line":3}}]');
INSERT INTO "item_chunks" VALUES('UL_1jnkng9lg1ergfo26907c52barkki6b015eg',3,1,0,'{"normalizer":1,"rules":"1","checks":[{"section":0,"account":"","currency":"","status":"unchecked","sentence":"nothing proves the sum: the balances that could are not printed","rows":2,"total":"9.40"}],"rejected":[],"rejected_count":0,"duplicates":0,"notes":["NOT_CHECKED: section 1: nothing proves the sum: the balances that could are not printed"]}');
INSERT INTO "item_chunks" VALUES('UL_1jnknit77cfol8532o9aajnfe29glldpbkog',1,0,1,'[{"place":{"line":2},"date":"2026-02-02","description":"c","amount":"8,10"}]');
INSERT INTO "item_chunks" VALUES('UL_1jnknit77cfol8532o9aajnfe29glldpbkog',1,1,0,'{"format":"csv","sections":[{"terms":{"date_order":"ymd","decimal":",","why":{"date_order":"every date shows its own order","decimal":"the decimal sign is a comma: 1 amounts such as ''8,10'' show it","sign":"amounts carry their sign"}},"rows":1}]}');
INSERT INTO "item_chunks" VALUES('UL_1jnknit77cfol8532o9aajnfe29glldpbkog',3,0,1,'[{"id":"tx_87b1bdad4bcc718892ef7b37","date":"2026-02-02","amount":"8.10","description":"c","merchant":"c","place":{"line":2}}]');
INSERT INTO "item_chunks" VALUES('UL_1jnknit77cfol8532o9aajnfe29glldpbkog',3,1,0,'{"normalizer":1,"rules":"1","checks":[{"section":0,"account":"","currency":"","status":"unchecked","sentence":"nothing proves the sum: the balances that could are not printed","rows":1,"total":"8.10"}],"rejected":[],"rejected_count":0,"duplicates":0,"notes":["NOT_CHECKED: section 1: nothing proves the sum: the balances that could are not printed"]}');
CREATE TABLE links (
    token_hash TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE machines (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    document TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;
INSERT INTO "machines" VALUES('contract',1,'27296c35e94e9eea84b9569e97a4b84ea29069eac1e797d0b5d40596c5f81e0e','{"name":"contract","version":1,"prefix":"CW","initial":"pending","states":[{"name":"pending","kind":"ready","doc":"Taken in; waits for its text to be read","is_imported":false},{"name":"parsing_pdf","kind":"running","doc":"The text is being read","is_imported":false},{"name":"extracting","kind":"running","doc":"The terms are being extracted","is_imported":false},{"name":"validating","kind":"running","doc":"The terms are being checked against the rules","is_imported":false},{"name":"review_required","kind":"suspended","doc":"Waits for a person''s decision","is_imported":false},{"name":"validated","kind":"ready","doc":"Accepted, by rule or by a person; waits for the comparison","is_imported":false},{"name":"comparing","kind":"running","doc":"Offers are being compared","is_imported":false},{"name":"completed","kind":"terminal","doc":"Compared; the result is kept","is_imported":false},{"name":"rejected","kind":"terminal","doc":"A person rejected it, or its retries are used up","is_imported":false},{"name":"timed_out","kind":"terminal","doc":"No person decided in time; it can be found and processed again","is_imported":false},{"name":"failed","kind":"failed","doc":"A step failed; a retry resumes at that very step","is_imported":false}],"stages":[{"name":"parse","from":"pending","running":"parsing_pdf","outcomes":{"done":[{"to":"extracting","when":null}]},"on_error":"failed","on_fatal":"failed","on_error_waiting":null,"resume":"parsing_pdf","timeout_s":300.0,"runner":"contract.parse","isolation":"process","produces":null,"log_field":"parse_log_ref","network":false,"is_external":true},{"name":"extract","from":"extracting","running":"extracting","outcomes":{"done":[{"to":"validating","when":null}]},"on_error":"failed","on_fatal":"failed","on_error_waiting":null,"resume":"extracting","timeout_s":600.0,"runner":"contract.extract","isolation":"process","produces":null,"log_field":"extract_log_ref","network":true,"is_external":true},{"name":"validate","from":"validating","running":"validating","outcomes":{"done":[{"to":"validated","when":{"op":"all_of","field":"","value":null,"of":[{"op":"at_least","field":"final_confidence","value":80,"of":[]},{"op":"is_true","field":"valid","value":null,"of":[]}]}},{"to":"review_required","when":null}]},"on_error":"failed","on_fatal":"failed","on_error_waiting":null,"resume":"validating","timeout_s":120.0,"runner":"contract.validate","isolation":"process","produces":null,"log_field":"validate_log_ref","network":false,"is_external":false},{"name":"compare","from":"validated","running":"comparing","outcomes":{"done":[{"to":"completed","when":null}]},"on_error":"failed","on_fatal":"failed","on_error_waiting":null,"resume":"comparing","timeout_s":300.0,"runner":"contract.compare","isolation":"process","produces":null,"log_field":"compare_log_ref","network":false,"is_external":true}],"on_exhausted":"rejected","doc":"A contract is read, extracted, validated (by rule or by a person) and compared with offers.","reviews":[{"name":"review","state":"review_required","outcomes":{"approved":"validated","corrected":"validated","rejected":"rejected"},"timeout_s":86400.0,"on_timeout":"timed_out","of":"extract"}],"moves":[],"retry":{"max_retries":3,"backoff_s":[10.0,60.0,300.0],"jitter_s":0.0},"expose":{"parse_log_ref":"parsing_pdf","extract_log_ref":"extracting","validate_log_ref":"validating","compare_log_ref":"comparing","vertical":"validating","provider":"validating","final_confidence":"review_required"},"upgrades":{}}',1794845886599737);
INSERT INTO "machines" VALUES('literature',1,'f0347c578a846b4336e5ce33a7603018dba5cac35633596ba8c96d3305ee498c','{"name":"literature","version":1,"prefix":"LT","initial":"pending","states":[{"name":"pending","kind":"ready","doc":"Known; waits to be fetched","is_imported":false},{"name":"fetching","kind":"running","doc":"Being fetched from its source","is_imported":false},{"name":"fetched","kind":"ready","doc":"Its bytes are here; waits for a parser","is_imported":false},{"name":"parsing","kind":"running","doc":"A parser has it","is_imported":false},{"name":"parsed","kind":"ready","doc":"Read; waits to be validated","is_imported":false},{"name":"validating","kind":"running","doc":"Being checked","is_imported":false},{"name":"validated","kind":"ready","doc":"Found sound; waits for its intermediate form","is_imported":false},{"name":"ir_building","kind":"running","doc":"The intermediate form is being built","is_imported":false},{"name":"ir_ready","kind":"ready","doc":"The intermediate form is kept; waits to be embedded, or is completed as it is","is_imported":false},{"name":"embedding","kind":"running","doc":"Vectors are being computed","is_imported":false},{"name":"indexed","kind":"running","doc":"In the index; being confirmed","is_imported":false},{"name":"completed","kind":"terminal","doc":"Done","is_imported":false},{"name":"failed","kind":"terminal","doc":"Given up; only a person can reopen it","is_imported":false},{"name":"retrying","kind":"failed","doc":"An attempt failed; waits for the next one","is_imported":false},{"name":"skipped","kind":"terminal","doc":"Left out on purpose","is_imported":false},{"name":"legacy","kind":"suspended","doc":"From an old ledger whose word for it nobody could map","is_imported":true}],"stages":[{"name":"fetch","from":"pending","running":"fetching","outcomes":{"done":[{"to":"fetched","when":null}]},"on_error":"retrying","on_fatal":"failed","on_error_waiting":null,"resume":"fetching","timeout_s":3600.0,"runner":"literature.fetch","isolation":"process","produces":null,"log_field":"fetch_log_ref","network":false,"is_external":false},{"name":"parse","from":"fetched","running":"parsing","outcomes":{"done":[{"to":"parsed","when":null}]},"on_error":"retrying","on_fatal":"failed","on_error_waiting":"failed","resume":"parsing","timeout_s":3600.0,"runner":"literature.parse","isolation":"process","produces":null,"log_field":"parse_log_ref","network":false,"is_external":false},{"name":"validate","from":"parsed","running":"validating","outcomes":{"done":[{"to":"validated","when":null}]},"on_error":"retrying","on_fatal":"failed","on_error_waiting":"failed","resume":"validating","timeout_s":3600.0,"runner":"literature.validate","isolation":"process","produces":null,"log_field":"validate_log_ref","network":false,"is_external":false},{"name":"build_ir","from":"validated","running":"ir_building","outcomes":{"done":[{"to":"ir_ready","when":null}]},"on_error":"retrying","on_fatal":"failed","on_error_waiting":"failed","resume":"ir_building","timeout_s":3600.0,"runner":"literature.build_ir","isolation":"process","produces":null,"log_field":"build_ir_log_ref","network":false,"is_external":false},{"name":"embed","from":"ir_ready","running":"embedding","outcomes":{"done":[{"to":"indexed","when":null}]},"on_error":"retrying","on_fatal":"failed","on_error_waiting":"failed","resume":"embedding","timeout_s":3600.0,"runner":"literature.embed","isolation":"process","produces":null,"log_field":"embed_log_ref","network":false,"is_external":false},{"name":"confirm","from":"indexed","running":"indexed","outcomes":{"done":[{"to":"completed","when":null}]},"on_error":"failed","on_fatal":"failed","on_error_waiting":null,"resume":"indexed","timeout_s":3600.0,"runner":"literature.confirm","isolation":"process","produces":null,"log_field":"confirm_log_ref","network":false,"is_external":false}],"on_exhausted":"failed","doc":"A paper is fetched, parsed, validated, turned into an intermediate form, embedded and indexed.","reviews":[],"moves":[{"on":"document.skipped","source":"pending","to":"skipped","is_by_person":false},{"on":"document.completed","source":"ir_ready","to":"completed","is_by_person":false},{"on":"retry.requested","source":"failed","to":"retrying","is_by_person":true},{"on":"document.adopted","source":"legacy","to":"pending","is_by_person":false},{"on":"document.skipped","source":"legacy","to":"skipped","is_by_person":false}],"retry":{"max_retries":3,"backoff_s":[60.0,300.0,900.0],"jitter_s":0.0},"expose":{},"upgrades":{}}',1794845886599737);
INSERT INTO "machines" VALUES('upload',1,'01dc151079dcbb70d026f6abe409846a01b65e94b012f090203224d2f2bbc30e','{"name":"upload","version":1,"prefix":"UL","initial":"queued_for_parse","states":[{"name":"queued_for_parse","kind":"ready","doc":"Uploaded; waits for a parser","is_imported":false},{"name":"parsing","kind":"running","doc":"A parser has it","is_imported":false},{"name":"parsed","kind":"ready","doc":"Observations are kept; waits for a normalizer","is_imported":false},{"name":"normalizing","kind":"running","doc":"A normalizer has it","is_imported":false},{"name":"normalized","kind":"terminal","doc":"Canonical transactions are kept","is_imported":false},{"name":"error","kind":"failed","doc":"A step failed; a retry resumes at that step","is_imported":false}],"stages":[{"name":"parse","from":"queued_for_parse","running":"parsing","outcomes":{"done":[{"to":"parsed","when":null}]},"on_error":"error","on_fatal":"error","on_error_waiting":"error","resume":"queued_for_parse","timeout_s":3600.0,"runner":"upload.parse","isolation":"process","produces":"observations","log_field":"parse_log_ref","network":false,"is_external":false},{"name":"normalize","from":"parsed","running":"normalizing","outcomes":{"done":[{"to":"normalized","when":null}]},"on_error":"error","on_fatal":"error","on_error_waiting":"error","resume":"parsed","timeout_s":3600.0,"runner":"upload.normalize","isolation":"process","produces":"canonicals","log_field":"normalizer_log_ref","network":false,"is_external":false}],"on_exhausted":null,"doc":"A statement becomes observations (what the file says) and then canonical transactions.","reviews":[],"moves":[],"retry":{"max_retries":0,"backoff_s":[],"jitter_s":0.0},"expose":{"upload_log_ref":"queued_for_parse","parse_log_ref":"parsing","observations_count":"parsed","normalizer_log_ref":"normalizing","canonicals_count":"normalized"},"upgrades":{}}',1794845886599737);
CREATE TABLE outputs (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    stage TEXT NOT NULL,
    outcome TEXT NOT NULL,
    count INTEGER NOT NULL,
    facts TEXT NOT NULL,
    error_code TEXT,
    error_message TEXT,
    is_retryable INTEGER NOT NULL,
    worker TEXT NOT NULL,
    at INTEGER NOT NULL,
    log TEXT NOT NULL,
    PRIMARY KEY (record_id, version)
) STRICT, WITHOUT ROWID;
INSERT INTO "outputs" VALUES('UL_1jnkng9lg1ergfo26907c52barkki6b015eg',1,'parse','done',2,'{"format":"csv","sections":1}',NULL,NULL,1,'host-23584-890860',1794845908936465,'{"at":"2026-11-16T16:18:28.919688Z","level":"info","message":"the text is utf-8: all of it is valid"}
{"at":"2026-11-16T16:18:28.919771Z","level":"info","message":"the delimiter is '';''"}
{"at":"2026-11-16T16:18:28.919796Z","level":"info","message":"the headings are in row 1 of the table: ''amount'' is amount, ''text'' is description, ''date'' is date"}
{"at":"2026-11-16T16:18:28.935822Z","level":"info","message":"section 1: 2 rows","account":"","currency":"","opening":"","closing":"","date_order":"ymd","decimal":",","sign":"printed","why":{"date_order":"every date shows its own order","decimal":"the decimal sign is a comma: 2 amounts such as ''12,50'' show it","sign":"amounts carry their sign"}}
');
INSERT INTO "outputs" VALUES('UL_1jnkng9lg1ergfo26907c52barkki6b015eg',3,'normalize','done',2,'{"notes":["NOT_CHECKED: section 1: nothing proves the sum: the balances that could are not printed"],"reconciled":false,"rejected":0,"rules":"1"}',NULL,NULL,1,'host-23584-890860',1794845909108373,'{"at":"2026-11-16T16:18:29.107762Z","level":"warning","message":"section 1 is unchecked: nothing proves the sum: the balances that could are not printed","account":"","rows":2,"total":"9.40","difference":""}
{"at":"2026-11-16T16:18:29.107841Z","level":"info","message":"2 transactions by rules 1","rejected":0}
');
INSERT INTO "outputs" VALUES('UL_1jnknit77cfol8532o9aajnfe29glldpbkog',1,'parse','done',1,'{"format":"csv","sections":1}',NULL,NULL,1,'host-23584-890860',1794845908966518,'{"at":"2026-11-16T16:18:28.965473Z","level":"info","message":"the text is utf-8: all of it is valid"}
{"at":"2026-11-16T16:18:28.965518Z","level":"info","message":"the delimiter is '';''"}
{"at":"2026-11-16T16:18:28.965538Z","level":"info","message":"the headings are in row 1 of the table: ''amount'' is amount, ''text'' is description, ''date'' is date"}
{"at":"2026-11-16T16:18:28.965590Z","level":"info","message":"section 1: 1 rows","account":"","currency":"","opening":"","closing":"","date_order":"ymd","decimal":",","sign":"printed","why":{"date_order":"every date shows its own order","decimal":"the decimal sign is a comma: 1 amounts such as ''8,10'' show it","sign":"amounts carry their sign"}}
');
INSERT INTO "outputs" VALUES('UL_1jnknit77cfol8532o9aajnfe29glldpbkog',3,'normalize','done',1,'{"notes":["NOT_CHECKED: section 1: nothing proves the sum: the balances that could are not printed"],"reconciled":false,"rejected":0,"rules":"1"}',NULL,NULL,1,'host-23584-890860',1794845909125562,'{"at":"2026-11-16T16:18:29.124798Z","level":"warning","message":"section 1 is unchecked: nothing proves the sum: the balances that could are not printed","account":"","rows":1,"total":"8.10","difference":""}
{"at":"2026-11-16T16:18:29.124840Z","level":"info","message":"1 transactions by rules 1","rejected":0}
');
INSERT INTO "outputs" VALUES('UL_1jnknjqh0kuagsrerut82uo480capdcu9r40',1,'parse','done',0,'{}','UNKNOWN_FORMAT','the file is text, but not a table: no comma, semicolon, tab or bar separates cells; export the statement as CSV',0,'host-23584-890860',1794845909152422,'{"at":"2026-11-16T16:18:29.151970Z","level":"info","message":"the text is utf-8: all of it is valid"}
{"at":"2026-11-16T16:18:29.152027Z","level":"error","message":"the file is text, but not a table: no comma, semicolon, tab or bar separates cells; export the statement as CSV","code":"UNKNOWN_FORMAT","traceback":"Traceback (most recent call last):\n  File \"stateward/pipelines/statements/parse.py\", line 81, in parse\n    reading = read_statement(source)\n              ^^^^^^^^^^^^^^^^^^^^^^\n  File \"stateward/pipelines/statements/readers.py\", line 33, in read_statement\n    return read(source)\n           ^^^^^^^^^^^^\n  File \"stateward/pipelines/statements/delimited.py\", line 21, in read\n    raise FatalFailure(\nstateward.core.errors.FatalFailure: the file is text, but not a table: no comma, semicolon, tab or bar separates cells; export the statement as CSV\n"}
');
CREATE TABLE pauses (
    machine TEXT NOT NULL,
    stage TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (machine, stage)
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    id TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    machine_version INTEGER NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    entered_at INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    waiting TEXT,
    due_at INTEGER,
    worker TEXT,
    retry_count INTEGER NOT NULL,
    last_retry_at INTEGER,
    failed_from TEXT,
    error_code TEXT,
    error_message TEXT,
    rest TEXT,
    artifact TEXT,
    dedupe TEXT,
    replaces TEXT,
    labels TEXT NOT NULL,
    fields TEXT NOT NULL,
    outputs TEXT NOT NULL,
    head TEXT NOT NULL
, asked_by TEXT) STRICT, WITHOUT ROWID;
INSERT INTO "records" VALUES('UL_1jnkng9lg1ergfo26907c52barkki6b015eg','upload',1,'normalized',4,1794845889208922,1794845909108683,5,1794845889208922,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'5ebda94187f7e5bdff1794150addb48cdc5810ad6db12066590ee8524c87418f','5ebda94187f7e5bdff1794150addb48cdc5810ad6db12066590ee8524c87418f',NULL,'{"filename":"a.csv","size":55}','{"canonicals_count":2,"normalizer_log_ref":"/logs/normalize/UL_1jnkng9lg1ergfo26907c52barkki6b015eg","notes":["NOT_CHECKED: section 1: nothing proves the sum: the balances that could are not printed"],"observations_count":2,"parse_log_ref":"/logs/parse/UL_1jnkng9lg1ergfo26907c52barkki6b015eg","upload_log_ref":"/logs/upload/UL_1jnkng9lg1ergfo26907c52barkki6b015eg"}','{"normalize":3,"parse":1}','9416aa70ddc39d71becc1c499d94944dce3c71f3c082354901fb9e7066d51b68',NULL);
INSERT INTO "records" VALUES('UL_1jnknit77cfol8532o9aajnfe29glldpbkog','upload',1,'normalized',4,1794845899653183,1794845909125849,5,1794845899653183,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'8bf326b9fac78d0cb9e0723cd7b6c95be74a8c535f0c1b9df3d0aee6429ec8d5','8bf326b9fac78d0cb9e0723cd7b6c95be74a8c535f0c1b9df3d0aee6429ec8d5',NULL,'{"filename":"b.csv","size":35}','{"canonicals_count":1,"normalizer_log_ref":"/logs/normalize/UL_1jnknit77cfol8532o9aajnfe29glldpbkog","notes":["NOT_CHECKED: section 1: nothing proves the sum: the balances that could are not printed"],"observations_count":1,"parse_log_ref":"/logs/parse/UL_1jnknit77cfol8532o9aajnfe29glldpbkog","upload_log_ref":"/logs/upload/UL_1jnknit77cfol8532o9aajnfe29glldpbkog"}','{"normalize":3,"parse":1}','82f5d48fb1a11966b5f9387c8d566bcc2666b6c16511f675f6bb8d1ded0835ba',NULL);
INSERT INTO "records" VALUES('UL_1jnknjqh0kuagsrerut82uo480capdcu9r40','upload',1,'error',2,1794845903316415,1794845909152677,5,1794845903316415,NULL,NULL,NULL,0,NULL,'parsing','UNKNOWN_FORMAT','the file is text, but not a table: no comma, semicolon, tab or bar separates cells; export the statement as CSV',NULL,'9449cf021215001071425d1a15dc5268f301ece8b7b98e6159a95583447e1431','9449cf021215001071425d1a15dc5268f301ece8b7b98e6159a95583447e1431',NULL,'{"filename":"c.txt","size":14}','{"parse_log_ref":"/logs/parse/UL_1jnknjqh0kuagsrerut82uo480capdcu9r40","upload_log_ref":"/logs/upload/UL_1jnknjqh0kuagsrerut82uo480capdcu9r40"}','{}','6b214ccd704bff0dbc33175afe4005a9aaa77d103e4d1633d685269db2983614',NULL);
INSERT INTO "records" VALUES('UL_1jnknm46luvrvls67fn4990uc3fjahti81vg','upload',1,'queued_for_parse',0,1794845912526056,1794845912526056,5,1794845912526056,'parse',NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'7e7b65d5bf796a6105c6267b1eb03865fddff666094e84e819be2940fe5c6d76','7e7b65d5bf796a6105c6267b1eb03865fddff666094e84e819be2940fe5c6d76',NULL,'{"filename":"d.csv","size":35}','{"upload_log_ref":"/logs/upload/UL_1jnknm46luvrvls67fn4990uc3fjahti81vg"}','{}','efe600774185800e6237849d02e8cb951825b261318573d386e6be5ab664f341',NULL);
CREATE TABLE "saved_values" (
    record_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (record_id, stage, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    token_hash TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE transitions (
    seq INTEGER PRIMARY KEY,
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    machine TEXT NOT NULL,
    machine_version INTEGER NOT NULL,
    source TEXT,
    target TEXT NOT NULL,
    event_id TEXT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    trigger TEXT NOT NULL,
    attempt INTEGER,
    metadata TEXT NOT NULL,
    authority TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    record_hash TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
INSERT INTO "transitions" VALUES(1,'UL_1jnkng9lg1ergfo26907c52barkki6b015eg',0,'upload',1,NULL,'queued_for_parse',NULL,1794845889208922,'person:ada','upload.created',NULL,'{}','coordinator',0,'82b6ae7c7a6fe3a646d6243090169e51c3e61821daed3fec65ac2aaf9e7125d2','0000000000000000000000000000000000000000000000000000000000000000','0ab42126c021e0746e8bee199bba05690ea2649ea08a54739ded0d5b6d112dd3');
INSERT INTO "transitions" VALUES(2,'UL_1jnknit77cfol8532o9aajnfe29glldpbkog',0,'upload',1,NULL,'queued_for_parse',NULL,1794845899653183,'person:ada','upload.created',NULL,'{}','coordinator',0,'9c5a6da657bd98c70bca9233a820da20794b2beb6d99df120360de1ac4dfb542','0000000000000000000000000000000000000000000000000000000000000000','368c273255600308ac9815eb39124c7aa6089702d962df3732a8df54f90d402e');
INSERT INTO "transitions" VALUES(3,'UL_1jnknjqh0kuagsrerut82uo480capdcu9r40',0,'upload',1,NULL,'queued_for_parse',NULL,1794845903316415,'person:ada','upload.created',NULL,'{}','coordinator',0,'2c07d2583b500601d7ebb821179a5ac7e0015e1fa4dfb74cbf0e143b172d5101','0000000000000000000000000000000000000000000000000000000000000000','5470ba493ae161e98ec0035b5bc62601d028fcbed5bc5e9f070f68b0f205eb21');
INSERT INTO "transitions" VALUES(4,'UL_1jnkng9lg1ergfo26907c52barkki6b015eg',1,'upload',1,'queued_for_parse','parsing',NULL,1794845906945807,'coordinator','parse.started',1,'{"retry_count":0,"worker":"host-23584-890860"}','coordinator',1,'7b4c7ae0152776bcfd317c69db7a9924d784ab69a48fa6246dd886b8cf724402','0ab42126c021e0746e8bee199bba05690ea2649ea08a54739ded0d5b6d112dd3','a328768462afed65a3742810ee59517d6eee172330d18b0c5bda2b024d6a0c8a');
INSERT INTO "transitions" VALUES(5,'UL_1jnknit77cfol8532o9aajnfe29glldpbkog',1,'upload',1,'queued_for_parse','parsing',NULL,1794845906945807,'coordinator','parse.started',1,'{"retry_count":0,"worker":"host-23584-890860"}','coordinator',1,'63be1d854de71fb4605b7d54051438168498b1e3ce89521c90922f3b1533eb14','368c273255600308ac9815eb39124c7aa6089702d962df3732a8df54f90d402e','bd99f5d509537749d035cfee8a560f2fbf3900dbc2c548c4ad926ee105d782a6');
INSERT INTO "transitions" VALUES(6,'UL_1jnkng9lg1ergfo26907c52barkki6b015eg',2,'upload',1,'parsing','parsed',NULL,1794845908936867,'runner:host-23584-890860','parse.completed',1,'{"count":2,"format":"csv","sections":1}','coordinator',1,'223df12346c76780d742476784a4549e368ad755ea7463160abe4374f79ab7d8','a328768462afed65a3742810ee59517d6eee172330d18b0c5bda2b024d6a0c8a','fb7385d843ac644a2b8a7cbf9b456cd758e97ec6cd9f9664be094e1432a2774b');
INSERT INTO "transitions" VALUES(7,'UL_1jnkng9lg1ergfo26907c52barkki6b015eg',3,'upload',1,'parsed','normalizing',NULL,1794845908936867,'coordinator','normalize.started',3,'{"retry_count":0,"worker":"host-23584-890860"}','coordinator',1,'48a0fa858824048ee8952a050aec525d436822c0b9a34a29eb3dff56a8ea90da','fb7385d843ac644a2b8a7cbf9b456cd758e97ec6cd9f9664be094e1432a2774b','41beb2607a570c65d411a846aab04b4e77dcc0c17d6f45b94877f08837720091');
INSERT INTO "transitions" VALUES(8,'UL_1jnknit77cfol8532o9aajnfe29glldpbkog',2,'upload',1,'parsing','parsed',NULL,1794845908967113,'runner:host-23584-890860','parse.completed',1,'{"count":1,"format":"csv","sections":1}','coordinator',1,'e80749fdc614bfc914e4e119cd3f73adc6c5101ec5b7c21c05296f448e1e9682','bd99f5d509537749d035cfee8a560f2fbf3900dbc2c548c4ad926ee105d782a6','56e38edd772ab18e3ed80480e82dc35f39cfc4c269e31c2f67ab51da22abbaa4');
INSERT INTO "transitions" VALUES(9,'UL_1jnknit77cfol8532o9aajnfe29glldpbkog',3,'upload',1,'parsed','normalizing',NULL,1794845908967113,'coordinator','normalize.started',3,'{"retry_count":0,"worker":"host-23584-890860"}','coordinator',1,'c7d04441506256e894bd9bdd3d2033aab646b2a3af420f70e8bc79be3f2c5b3c','56e38edd772ab18e3ed80480e82dc35f39cfc4c269e31c2f67ab51da22abbaa4','ed88e21437b1f37afb9f0a26a7806a274e4fbba4504110a23a59982b33957e81');
INSERT INTO "transitions" VALUES(10,'UL_1jnkng9lg1ergfo26907c52barkki6b015eg',4,'upload',1,'normalizing','normalized',NULL,1794845909108683,'runner:host-23584-890860','normalize.completed',3,'{"count":2,"notes":["NOT_CHECKED: section 1: nothing proves the sum: the balances that could are not printed"],"reconciled":false,"rejected":0,"rules":"1"}','coordinator',1,'462450ab687eac5221dc8abd7af9ab31f4bc3355a7e4a4229361441c0d268863','41beb2607a570c65d411a846aab04b4e77dcc0c17d6f45b94877f08837720091','9416aa70ddc39d71becc1c499d94944dce3c71f3c082354901fb9e7066d51b68');
INSERT INTO "transitions" VALUES(11,'UL_1jnknjqh0kuagsrerut82uo480capdcu9r40',1,'upload',1,'queued_for_parse','parsing',NULL,1794845909108683,'coordinator','parse.started',1,'{"retry_count":0,"worker":"host-23584-890860"}','coordinator',1,'1edc298b457db47c6f630883046c18c43138ea27c813507798a4d880fef8c564','5470ba493ae161e98ec0035b5bc62601d028fcbed5bc5e9f070f68b0f205eb21','82aa66f76656be11a953d12859e2050469a3a3bf7efcd5284ac49bd41d65e900');
INSERT INTO "transitions" VALUES(12,'UL_1jnknit77cfol8532o9aajnfe29glldpbkog',4,'upload',1,'normalizing','normalized',NULL,1794845909125849,'runner:host-23584-890860','normalize.completed',3,'{"count":1,"notes":["NOT_CHECKED: section 1: nothing proves the sum: the balances that could are not printed"],"reconciled":false,"rejected":0,"rules":"1"}','coordinator',1,'bdaad76ec71046c91cb47fb99ebe3a1f3825c89934db2a8bf608cfeed1ac81ed','ed88e21437b1f37afb9f0a26a7806a274e4fbba4504110a23a59982b33957e81','82f5d48fb1a11966b5f9387c8d566bcc2666b6c16511f675f6bb8d1ded0835ba');
INSERT INTO "transitions" VALUES(13,'UL_1jnknjqh0kuagsrerut82uo480capdcu9r40',2,'upload',1,'parsing','error',NULL,1794845909152677,'runner:host-23584-890860','parse.failed',1,'{"error_code":"UNKNOWN_FORMAT","error_message":"the file is text, but not a table: no comma, semicolon, tab or bar separates cells; export the statement as CSV","failed_at_step":"parsing"}','coordinator',1,'96fded073f4bbfbcaebf4ec852225bbebcc22bd58351395be0a128d09473aa07','82aa66f76656be11a953d12859e2050469a3a3bf7efcd5284ac49bd41d65e900','6b214ccd704bff0dbc33175afe4005a9aaa77d103e4d1633d685269db2983614');
INSERT INTO "transitions" VALUES(14,'UL_1jnknm46luvrvls67fn4990uc3fjahti81vg',0,'upload',1,NULL,'queued_for_parse',NULL,1794845912526056,'person:ada','upload.created',NULL,'{}','coordinator',1,'1e35190116e826593461d0e6fd11f7e39faa66a54955645543e1193613c30b94','0000000000000000000000000000000000000000000000000000000000000000','efe600774185800e6237849d02e8cb951825b261318573d386e6be5ab664f341');
CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    content TEXT NOT NULL,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_until INTEGER,
    is_enabled INTEGER NOT NULL,
    disabled_reason TEXT,
    origin TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    since INTEGER NOT NULL,
    rests_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE work (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    worker TEXT NOT NULL,
    delivery INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    is_inline INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (record_id, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    life TEXT NOT NULL,
    runners TEXT NOT NULL,
    slots INTEGER NOT NULL,
    inline_slots INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    is_draining INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX records_waiting ON records (machine, waiting, rank) WHERE waiting IS NOT NULL;
CREATE INDEX records_due ON records (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX records_status ON records (machine, status, id);
CREATE INDEX records_errors ON records (machine, error_code) WHERE error_code IS NOT NULL;
CREATE UNIQUE INDEX records_dedupe ON records (machine, dedupe) WHERE dedupe IS NOT NULL;
CREATE UNIQUE INDEX transitions_record ON transitions (record_id, version);
CREATE UNIQUE INDEX transitions_event ON transitions (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX effects_open ON effects (created_at) WHERE settled_at IS NULL;
CREATE INDEX dispositions_record ON dispositions (record_id);
CREATE INDEX work_worker ON work (worker, rank);
CREATE INDEX answers_at ON answers (at);
CREATE INDEX batches_running ON batches (id) WHERE status = 'running';
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_next ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_listed ON deliveries (created_at, message_id, webhook_id);
CREATE INDEX deliveries_dead ON deliveries (created_at, message_id, webhook_id) WHERE state = 'dead';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX sessions_expiry ON sessions (expires_at);
CREATE INDEX links_expiry ON links (expires_at);
CREATE INDEX audit_log_record ON audit_log (record_id, id);
CREATE INDEX alerts_due ON alerts (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX alerts_sent ON alerts (sent_at) WHERE sent_at IS NOT NULL;
COMMIT;
PRAGMA user_version = 8;
PRAGMA application_id = 1400133476;
