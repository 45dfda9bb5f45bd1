-- The store of revision 81a25171 (17 migrations, to `0018_moves`), dumped from PostgreSQL: not to be edited. See old_store.py.
CREATE TABLE public.api_key (
    key_id text NOT NULL,
    digest bytea NOT NULL,
    scopes text NOT NULL,
    client bigint,
    name text NOT NULL,
    created_us bigint NOT NULL,
    env text DEFAULT 'live'::text NOT NULL,
    expires_us bigint,
    revoked_us bigint,
    last_used_us bigint,
    replaces text,
    replaced_by text
);
ALTER TABLE ONLY public.api_key FORCE ROW LEVEL SECURITY;
CREATE TABLE public.cell (
    number bigint NOT NULL,
    name text NOT NULL,
    address text NOT NULL,
    state text NOT NULL,
    created_us bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE public.client (
    id bigint NOT NULL,
    client_id text NOT NULL,
    created_us bigint NOT NULL,
    settings text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    state_us bigint,
    removed bigint DEFAULT 0 NOT NULL,
    rows_total bigint,
    made_by text
);
ALTER TABLE ONLY public.client FORCE ROW LEVEL SECURITY;
CREATE TABLE public.client_alias (
    client_id text NOT NULL,
    client bigint NOT NULL,
    until_us bigint NOT NULL
);
ALTER TABLE ONLY public.client_alias FORCE ROW LEVEL SECURITY;
CREATE TABLE public.client_move (
    number bigint NOT NULL,
    client_id text NOT NULL,
    source bigint NOT NULL,
    target bigint NOT NULL,
    state text NOT NULL,
    token text NOT NULL,
    began_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    "position" text NOT NULL
);
CREATE TABLE public.client_place (
    client_id text NOT NULL,
    number bigint,
    cell bigint,
    revision bigint NOT NULL
);
CREATE TABLE public.company (
    client bigint NOT NULL,
    id bigint NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    domain text NOT NULL COLLATE pg_catalog."C",
    name text,
    from_api bigint NOT NULL,
    initial_status text,
    status text,
    previous_status text,
    status_changed_us bigint,
    status_entry_us bigint,
    status_entry_key text,
    status_cause text,
    stamps text,
    status_path text,
    external_id text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.company FORCE ROW LEVEL SECURITY;
CREATE TABLE public.company_linking (
    client bigint NOT NULL,
    mode text NOT NULL,
    "position" bigint NOT NULL,
    job_id bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.company_linking FORCE ROW LEVEL SECURITY;
CREATE TABLE public.connection (
    client bigint NOT NULL,
    channel text NOT NULL,
    tool text NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    secrets text NOT NULL,
    settings text NOT NULL,
    access_token text DEFAULT ''::text NOT NULL,
    secrets_since_us bigint
);
ALTER TABLE ONLY public.connection FORCE ROW LEVEL SECURITY;
CREATE TABLE public.connection_calls (
    client bigint NOT NULL,
    channel text NOT NULL,
    tool text NOT NULL,
    hour bigint NOT NULL,
    calls bigint NOT NULL
);
ALTER TABLE ONLY public.connection_calls FORCE ROW LEVEL SECURITY;
CREATE TABLE public.connection_rhythm (
    client bigint NOT NULL,
    channel text NOT NULL,
    tool text NOT NULL,
    last_us bigint NOT NULL,
    due_us bigint
);
ALTER TABLE ONLY public.connection_rhythm FORCE ROW LEVEL SECURITY;
CREATE TABLE public.connection_silence (
    client bigint NOT NULL,
    channel text NOT NULL,
    tool text NOT NULL,
    noticed_us bigint NOT NULL,
    since_us bigint NOT NULL,
    ended_us bigint,
    week bigint NOT NULL,
    usual_interval_s bigint
);
ALTER TABLE ONLY public.connection_silence FORCE ROW LEVEL SECURITY;
CREATE TABLE public.contact (
    client bigint NOT NULL,
    id bigint NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    email text,
    email_key text COLLATE pg_catalog."C",
    linkedin_url text,
    linkedin_key text,
    first_name text,
    last_name text,
    company_id bigint,
    origin text,
    from_api bigint NOT NULL,
    initial_status text,
    status text,
    previous_status text,
    status_changed_us bigint,
    status_entry_us bigint,
    status_entry_key text,
    status_cause text,
    first_sent_us bigint,
    last_sent_us bigint,
    last_reply_us bigint,
    stamps text,
    status_path text,
    external_id text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.contact FORCE ROW LEVEL SECURITY;
CREATE TABLE public.custom_field (
    client bigint NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL,
    name text NOT NULL,
    id bigint NOT NULL,
    value text,
    updated_us bigint NOT NULL,
    priority bigint NOT NULL,
    stamped_us bigint NOT NULL,
    stamp_key text NOT NULL,
    created_us bigint DEFAULT 0 NOT NULL
);
ALTER TABLE ONLY public.custom_field FORCE ROW LEVEL SECURITY;
CREATE TABLE public.dedupe_key (
    client bigint NOT NULL,
    key bytea NOT NULL,
    delivery_id bigint NOT NULL,
    received_us bigint NOT NULL,
    duplicate_of bigint
);
ALTER TABLE ONLY public.dedupe_key FORCE ROW LEVEL SECURITY;
CREATE TABLE public.deleted_link (
    client bigint NOT NULL,
    tool text NOT NULL,
    object_type text NOT NULL,
    object_id text NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL,
    id bigint,
    deleted_us bigint NOT NULL
);
ALTER TABLE ONLY public.deleted_link FORCE ROW LEVEL SECURITY;
CREATE TABLE public.deleted_record (
    client bigint NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL,
    deleted_us bigint NOT NULL,
    content text NOT NULL
);
ALTER TABLE ONLY public.deleted_record FORCE ROW LEVEL SECURITY;
CREATE TABLE public.delivery (
    client bigint NOT NULL,
    id bigint NOT NULL,
    channel text NOT NULL,
    state text NOT NULL,
    received_us bigint NOT NULL,
    tool text,
    attempts bigint NOT NULL,
    repeats bigint NOT NULL,
    error text,
    applied_us bigint,
    next_attempt_us bigint NOT NULL,
    size bigint NOT NULL,
    key bytea NOT NULL,
    verified bigint,
    shape text,
    body_removed text,
    body_removed_us bigint,
    duplicate_of bigint,
    dated bigint,
    problems text,
    trace text
);
ALTER TABLE ONLY public.delivery FORCE ROW LEVEL SECURITY;
CREATE TABLE public.delivery_body (
    client bigint NOT NULL,
    id bigint NOT NULL,
    query text NOT NULL,
    headers bytea NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE ONLY public.delivery_body FORCE ROW LEVEL SECURITY;
CREATE TABLE public.dispatch_lease (
    name text NOT NULL,
    token text NOT NULL,
    until_us bigint NOT NULL
);
CREATE TABLE public.encryption_key (
    key_id text NOT NULL,
    canary text NOT NULL
);
CREATE TABLE public.erased (
    client bigint NOT NULL,
    digest bytea NOT NULL,
    erasure bigint NOT NULL,
    derived bigint NOT NULL,
    erased_us bigint NOT NULL
);
ALTER TABLE ONLY public.erased FORCE ROW LEVEL SECURITY;
CREATE TABLE public.erasure (
    client bigint NOT NULL,
    id bigint NOT NULL,
    requested_us bigint NOT NULL,
    done_us bigint,
    swept_to bigint NOT NULL,
    sweep_until bigint NOT NULL,
    removed text NOT NULL
);
ALTER TABLE ONLY public.erasure FORCE ROW LEVEL SECURITY;
CREATE TABLE public.event (
    client bigint NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL,
    occurred_us bigint NOT NULL,
    key text NOT NULL,
    event text NOT NULL,
    effect text NOT NULL,
    status text,
    tool text NOT NULL,
    channel text NOT NULL,
    campaign text,
    delivery_id bigint,
    received_us bigint NOT NULL,
    via bigint NOT NULL,
    detail text NOT NULL,
    campaign_id text
);
ALTER TABLE ONLY public.event FORCE ROW LEVEL SECURITY;
CREATE TABLE public.event_counter (
    client bigint NOT NULL,
    next bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.event_counter FORCE ROW LEVEL SECURITY;
CREATE TABLE public.event_hour (
    client bigint NOT NULL,
    hour bigint NOT NULL,
    version bigint NOT NULL
);
ALTER TABLE ONLY public.event_hour FORCE ROW LEVEL SECURITY;
CREATE TABLE public.fetch_queue (
    client bigint NOT NULL,
    tool text NOT NULL,
    object_type text NOT NULL,
    object_id text NOT NULL,
    rank bigint NOT NULL,
    thin bigint NOT NULL,
    requested_us bigint NOT NULL,
    next_us bigint,
    attempts bigint NOT NULL
);
ALTER TABLE ONLY public.fetch_queue FORCE ROW LEVEL SECURITY;
CREATE TABLE public.fetch_state (
    client bigint NOT NULL,
    tool text NOT NULL,
    next_us bigint NOT NULL,
    failures bigint NOT NULL,
    stopped bigint NOT NULL,
    error text,
    error_us bigint,
    fetched_us bigint
);
ALTER TABLE ONLY public.fetch_state FORCE ROW LEVEL SECURITY;
CREATE TABLE public.id_block (
    name text NOT NULL,
    next bigint NOT NULL
);
CREATE TABLE public.idempotency_key (
    client bigint NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    record_kind bigint,
    record_id bigint,
    created_us bigint NOT NULL,
    expires_us bigint NOT NULL,
    response bytea NOT NULL
);
ALTER TABLE ONLY public.idempotency_key FORCE ROW LEVEL SECURITY;
CREATE TABLE public.import_mapping (
    client bigint NOT NULL,
    record text NOT NULL,
    name text NOT NULL,
    mapping text NOT NULL,
    updated_us bigint NOT NULL
);
ALTER TABLE ONLY public.import_mapping FORCE ROW LEVEL SECURITY;
CREATE TABLE public.installation_suppression (
    kind text NOT NULL,
    value text NOT NULL,
    id bigint NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    reason text NOT NULL,
    source text NOT NULL,
    note text NOT NULL,
    since_us bigint NOT NULL,
    until_us bigint
);
CREATE TABLE public.job (
    client bigint NOT NULL,
    id bigint NOT NULL,
    kind text NOT NULL,
    state text NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    started_us bigint,
    finished_us bigint,
    settings text NOT NULL,
    "position" text NOT NULL,
    progress text NOT NULL,
    error text,
    attempts bigint NOT NULL,
    token text NOT NULL,
    lease_until_us bigint NOT NULL,
    files_until_us bigint,
    made_by text
);
ALTER TABLE ONLY public.job FORCE ROW LEVEL SECURITY;
CREATE TABLE public.job_file (
    client bigint NOT NULL,
    job_id bigint NOT NULL,
    name text NOT NULL,
    number bigint NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE ONLY public.job_file FORCE ROW LEVEL SECURITY;
CREATE TABLE public.key_place (
    key_id text NOT NULL,
    number bigint NOT NULL,
    revision bigint NOT NULL
);
CREATE TABLE public.link (
    client bigint NOT NULL,
    tool text NOT NULL,
    object_type text NOT NULL,
    object_id text NOT NULL,
    id bigint NOT NULL,
    record_kind bigint,
    record_id bigint
);
ALTER TABLE ONLY public.link FORCE ROW LEVEL SECURITY;
CREATE TABLE public.logged_event (
    client bigint NOT NULL,
    sequence bigint NOT NULL,
    type text NOT NULL,
    at bigint NOT NULL,
    record_kind bigint,
    record_id bigint,
    changed text NOT NULL,
    cause text NOT NULL,
    data text NOT NULL
);
ALTER TABLE ONLY public.logged_event FORCE ROW LEVEL SECURITY;
CREATE TABLE public.message (
    client bigint NOT NULL,
    id bigint NOT NULL,
    direction text NOT NULL,
    channel text NOT NULL,
    occurred_us bigint NOT NULL,
    event_key text NOT NULL,
    delivery_id bigint,
    received_us bigint NOT NULL,
    tool text NOT NULL,
    mailbox text,
    subject text,
    text text,
    html text,
    campaign_id text,
    campaign_name text,
    step text,
    message_id text,
    thread_id text,
    category text,
    interested bigint,
    custom text NOT NULL,
    updated_us bigint NOT NULL,
    copy_key text,
    has_body bigint NOT NULL,
    deleted bigint NOT NULL
);
ALTER TABLE ONLY public.message FORCE ROW LEVEL SECURITY;
CREATE TABLE public.migration (
    name text NOT NULL,
    digest text NOT NULL
);
CREATE TABLE public.moving_change (
    sequence bigint NOT NULL,
    number bigint NOT NULL,
    table_name text NOT NULL,
    row_key text NOT NULL
);
ALTER TABLE public.moving_change ALTER COLUMN sequence ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.moving_change_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.moving_client (
    number bigint NOT NULL,
    token text NOT NULL,
    state text NOT NULL
);
CREATE TABLE public.pending_company_link (
    client bigint NOT NULL,
    tool text NOT NULL,
    object_type text NOT NULL,
    object_id text NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL,
    stamped_us bigint NOT NULL,
    stamp_key text NOT NULL
);
ALTER TABLE ONLY public.pending_company_link FORCE ROW LEVEL SECURITY;
CREATE TABLE public.pending_domain_link (
    client bigint NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL,
    domain text NOT NULL
);
ALTER TABLE ONLY public.pending_domain_link FORCE ROW LEVEL SECURITY;
CREATE TABLE public.pending_webhook (
    client bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    sequence bigint NOT NULL,
    record_kind bigint,
    record_id bigint,
    attempts bigint NOT NULL,
    first_us bigint NOT NULL,
    next_us bigint
);
ALTER TABLE ONLY public.pending_webhook FORCE ROW LEVEL SECURITY;
CREATE TABLE public.record_merge (
    client bigint NOT NULL,
    id bigint NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL,
    merged_us bigint NOT NULL,
    undone_us bigint,
    content text NOT NULL
);
ALTER TABLE ONLY public.record_merge FORCE ROW LEVEL SECURITY;
CREATE TABLE public.refusal (
    client bigint NOT NULL,
    received_us bigint NOT NULL,
    id bigint NOT NULL,
    client_id text NOT NULL,
    channel text NOT NULL,
    tool text,
    cause text NOT NULL,
    size bigint NOT NULL,
    calls bigint NOT NULL,
    headers text NOT NULL
);
ALTER TABLE ONLY public.refusal FORCE ROW LEVEL SECURITY;
CREATE TABLE public.report_part (
    client bigint NOT NULL,
    begin_us bigint NOT NULL,
    end_us bigint NOT NULL,
    version bigint NOT NULL,
    stored_us bigint NOT NULL,
    content bytea NOT NULL
);
ALTER TABLE ONLY public.report_part FORCE ROW LEVEL SECURITY;
CREATE TABLE public.search_index (
    client bigint NOT NULL,
    record bigint NOT NULL,
    words tsvector NOT NULL
);
ALTER TABLE ONLY public.search_index FORCE ROW LEVEL SECURITY;
CREATE TABLE public.search_pending (
    client bigint NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL
);
ALTER TABLE ONLY public.search_pending FORCE ROW LEVEL SECURITY;
CREATE TABLE public.server_secret (
    name text NOT NULL,
    value bytea NOT NULL
);
CREATE TABLE public.silence_check (
    one bigint NOT NULL,
    checked_us bigint NOT NULL,
    since_us bigint NOT NULL
);
CREATE TABLE public.suppression (
    client bigint NOT NULL,
    kind text NOT NULL,
    value text NOT NULL,
    id bigint NOT NULL,
    hashed bigint NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    removed_us bigint NOT NULL,
    reason text,
    source text,
    note text NOT NULL,
    since_us bigint,
    until_us bigint,
    tool text,
    delivery_id bigint
);
ALTER TABLE ONLY public.suppression FORCE ROW LEVEL SECURITY;
CREATE TABLE public.suppression_cause (
    client bigint NOT NULL,
    kind text NOT NULL,
    value text NOT NULL,
    key text NOT NULL,
    reason text NOT NULL,
    source text NOT NULL,
    note text NOT NULL,
    since_us bigint NOT NULL,
    until_us bigint,
    at_us bigint NOT NULL,
    tool text,
    delivery_id bigint
);
ALTER TABLE ONLY public.suppression_cause FORCE ROW LEVEL SECURITY;
CREATE VIEW public.touchbase_companies AS
 SELECT c.client_id,
    r.id,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.created_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS created_at,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.updated_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS updated_time,
    r.domain,
    r.name,
    r.status AS company_status,
    r.previous_status,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.status_changed_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS status_changed_at
   FROM (public.company r
     JOIN public.client c ON ((c.id = r.client)));
CREATE VIEW public.touchbase_contacts AS
 SELECT c.client_id,
    r.id,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.created_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS created_at,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.updated_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS updated_time,
    r.email,
    r.linkedin_url,
    r.first_name,
    r.last_name,
    r.company_id,
    r.origin,
    r.status AS contact_status,
    r.previous_status,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.status_changed_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS status_changed_at,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.first_sent_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS first_campaign_email_sent,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.last_sent_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS last_campaign_email_sent,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((r.last_reply_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS last_reply_received
   FROM (public.contact r
     JOIN public.client c ON ((c.id = r.client)));
CREATE VIEW public.touchbase_custom_values AS
 SELECT c.client_id,
        CASE f.record_kind
            WHEN 1 THEN 'contact'::text
            ELSE 'company'::text
        END AS record,
    f.record_id,
    f.name AS field_name,
    f.value AS field_value,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((f.updated_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS updated_time
   FROM (public.custom_field f
     JOIN public.client c ON ((c.id = f.client)))
  WHERE (f.value IS NOT NULL);
CREATE VIEW public.touchbase_deliveries AS
 SELECT c.client_id,
    d.id,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((d.received_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS received_at,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((d.applied_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS applied_at,
    d.channel,
    d.tool,
    d.state,
    d.attempts,
    d.repeats,
    d.error,
    d.verified,
    d.size
   FROM (public.delivery d
     JOIN public.client c ON ((c.id = d.client)));
CREATE VIEW public.touchbase_events AS
 SELECT c.client_id,
        CASE e.record_kind
            WHEN 1 THEN 'contact'::text
            ELSE 'company'::text
        END AS record,
    e.record_id,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((e.occurred_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS occurred_at,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((e.received_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS received_at,
    e.key AS event_key,
    e.event,
    NULLIF(e.effect, ''::text) AS effect,
    e.status,
    e.channel,
    e.tool,
    e.campaign,
    e.campaign_id,
    e.delivery_id
   FROM (public.event e
     JOIN public.client c ON ((c.id = e.client)))
  WHERE ((e.record_kind = ANY (ARRAY[(1)::bigint, (2)::bigint])) AND (NOT (EXISTS ( SELECT 1
           FROM public.deleted_record d
          WHERE ((d.client = e.client) AND (d.record_kind = e.record_kind) AND (d.record_id = e.record_id))))));
CREATE VIEW public.touchbase_suppressions AS
 SELECT c.client_id,
    s.kind,
        CASE s.hashed
            WHEN 0 THEN s.value
            ELSE NULL::text
        END AS value,
    s.reason,
    s.source,
    NULLIF(s.note, ''::text) AS note,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((s.since_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS since,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((s.until_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS until,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((s.created_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS created_at,
    s.tool,
    s.delivery_id
   FROM (public.suppression s
     JOIN public.client c ON ((c.id = s.client)))
  WHERE (s.reason IS NOT NULL)
UNION ALL
 SELECT NULL::text AS client_id,
    i.kind,
    i.value,
    i.reason,
    i.source,
    NULLIF(i.note, ''::text) AS note,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((i.since_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS since,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((i.until_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS until,
    to_char(('1970-01-01 00:00:00'::timestamp without time zone + ((i.created_us)::double precision * '00:00:00.000001'::interval)), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'::text) AS created_at,
    NULL::text AS tool,
    NULL::bigint AS delivery_id
   FROM public.installation_suppression i;
CREATE TABLE public.webhook_attempt (
    client bigint NOT NULL,
    id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    sequence bigint NOT NULL,
    type text NOT NULL,
    at bigint NOT NULL,
    number bigint NOT NULL,
    outcome text NOT NULL,
    status bigint,
    latency_us bigint NOT NULL,
    response text NOT NULL,
    error text NOT NULL
);
ALTER TABLE ONLY public.webhook_attempt FORCE ROW LEVEL SECURITY;
CREATE TABLE public.webhook_endpoint (
    client bigint NOT NULL,
    id bigint NOT NULL,
    url text NOT NULL,
    types text NOT NULL,
    fields text NOT NULL,
    filter text NOT NULL,
    ordering text NOT NULL,
    format text NOT NULL,
    rate bigint NOT NULL,
    description text NOT NULL,
    secrets text NOT NULL,
    state text NOT NULL,
    reason text,
    state_us bigint NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    version bigint NOT NULL,
    kind text DEFAULT 'webhook'::text NOT NULL,
    settings text DEFAULT '{}'::text NOT NULL
);
ALTER TABLE ONLY public.webhook_endpoint FORCE ROW LEVEL SECURITY;
CREATE TABLE public.webhook_position (
    client bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    start bigint NOT NULL,
    "position" bigint NOT NULL,
    failing_since_us bigint,
    delivered_us bigint
)
WITH (fillfactor='50');
ALTER TABLE ONLY public.webhook_position FORCE ROW LEVEL SECURITY;
INSERT INTO public.api_key VALUES
	('b4741c940500', '\xb66df4b984ea4932d9725eb9a9dae1f016ddb7b6fadf4dc08494c6531b60f405', '["records:read"]', 1, 'reader', 1795900552095894, 'live', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.client VALUES
	(2, 'be80271f21c0d82743cc2447438524c463ed32f2', 1795900533147028, '{"on_duplicate":"error","contact_statuses":null,"company_statuses":null,"contact_fields":{},"company_fields":{},"contact_field_names":{},"company_field_names":{},"create_unknown":true,"linkedin_reply_counts":true,"limits":null,"keep_bodies_days":90,"keep_deleted_days":30,"require_verification":{"email_campaign":false,"crm":false},"suppress_on":{"unsubscribed":true,"complained":true,"hard_bounced":true},"store_message_bodies":true,"link_companies_by_email":"off","contact_renames":[],"company_renames":[]}', 'Beta', 'active', NULL, 0, NULL, 'administrator'),
	(1, 'acme', 1795900533085332, '{"on_duplicate":"error","contact_statuses":{"statuses":["bounced","contacted","do_not_contact","new","replied","won"],"transitions":{}},"company_statuses":null,"contact_fields":{"size":{"type":"number","options":[]}},"company_fields":{},"contact_field_names":{},"company_field_names":{},"create_unknown":true,"linkedin_reply_counts":true,"limits":null,"keep_bodies_days":90,"keep_deleted_days":30,"require_verification":{"email_campaign":false,"crm":false},"suppress_on":{"unsubscribed":true,"complained":true,"hard_bounced":true},"store_message_bodies":true,"link_companies_by_email":"existing","contact_renames":[],"company_renames":[]}', 'Acme', 'active', NULL, 0, NULL, 'administrator');
INSERT INTO public.client_alias VALUES
	('beta', 2, 1796505333280473);
INSERT INTO public.company VALUES
	(1, 1, 1795900533473108, 1795900533473108, 'example.com', 'Example', 1, NULL, 'prospect', NULL, NULL, 1795900533473108, '', 'initial', NULL, '{"1795900533473108":"prospect"}', 'co-1');
INSERT INTO public.company_linking VALUES
	(1, 'existing', 27, 3);
INSERT INTO public.connection VALUES
	(1, 'email_campaign', 'instantly', 1795900533341696, 1795900533341696, 'sealed:1:01a0c79c3bc2:KtG2EjFT8vdRLRK2jUQjZUEfUqUnCFfsz3GhGthQbTO1eC8_PZls56evK1hW40Gg', '{"status_property":{},"status_labels":{},"objects":{},"create_unknown":null,"linkedin_reply_counts":null,"deals_set_status":false,"deal_labels":{},"time_zone":null,"fields":{},"events":{},"api_base":null,"api_user":null,"location_id":null,"allow_v1_signatures":false,"written_property":null,"signature_max_age":null,"silence_alarm":true}', '', 1795900533341696),
	(1, 'crm', 'hubspot', 1795900533427076, 1795900533427076, '[]', '{"status_property":{},"status_labels":{},"objects":{},"create_unknown":null,"linkedin_reply_counts":null,"deals_set_status":false,"deal_labels":{},"time_zone":null,"fields":{},"events":{},"api_base":null,"api_user":null,"location_id":null,"allow_v1_signatures":false,"written_property":null,"signature_max_age":null,"silence_alarm":true}', 'sealed:1:01a0c79c3bc2:lSAuF5PIzJqAqLyajZ--a6okqrXjWXaHkhAdZLnAK_mY_Mm3i6-KWY0=', NULL);
INSERT INTO public.connection_calls VALUES
	(1, 'crm', 'hubspot', 498861, 1),
	(1, 'email_campaign', 'instantly', 498861, 6);
INSERT INTO public.connection_rhythm VALUES
	(1, 'crm', 'hubspot', 1795900534282375, 0),
	(1, 'email_campaign', 'instantly', 1795900534241141, 0);
INSERT INTO public.contact VALUES
	(1, 1, 1795900533597413, 1795900534171373, 'Ann@example.com', 'ann@example.com', NULL, NULL, 'Ann', 'Archer', 1, 'instantly', 1, NULL, 'new', 'replied', 1795900533597413, 1795900533597413, '', 'initial', 1795165200000000, 1795165200000000, 1795251600000000, '{"company_id":[-1,0,"domain"],"last_name":[1,1795900534024324,"api:ca110dfc46d353f9:0"],"api":[1,1795900534024324,"api:ca110dfc46d353f9:0"],"origin":[0,1795165200000000,"7d272801c7dcff8a9c3a6e71"]}', '{"1795165200000000":"contacted","1795251600000000":"replied","1795900533597413":"new"}', 'c-1'),
	(1, 4, 1795900533912489, 1795900537080669, 'dee@example.org', 'dee@example.org', NULL, NULL, NULL, NULL, NULL, 'instantly', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{"origin":[0,1795255200000000,"c38f59d2f5a691a001d20f69"]}', NULL, NULL),
	(1, 2, 1795900533832504, 1795900537080669, 'bob@example.com', 'bob@example.com', 'https://www.linkedin.com/in/bob-example', 'linkedin.com/in/bob-example', NULL, NULL, 1, 'instantly', 1, NULL, 'do_not_contact', NULL, 1795258800000000, 1795258800000000, 'e03f3b33acc0345d97a03262', 'unsubscribe', NULL, NULL, NULL, '{"company_id":[-1,0,"domain"],"origin":[0,1795258800000000,"e03f3b33acc0345d97a03262"]}', '{"1795258800000000":"do_not_contact"}', NULL),
	(1, 3, 1795900533881760, 1795900537620229, 'cid@example.org', 'cid@example.org', NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, 'new', NULL, NULL, 1795900533881760, '', 'initial', NULL, NULL, NULL, '{"email":[1,1795900537620229,"api:ca110dfc46d353f9:3"]}', '{"1795900533881760":"new"}', NULL),
	(1, 13, 1795900537923849, 1795900537923849, 'fay@example.org', 'fay@example.org', NULL, NULL, 'Fay', NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	(2, 14, 1795900538048260, 1795900538048260, 'solo@beta.example', 'solo@beta.example', NULL, NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.custom_field VALUES
	(1, 1, 1, 'shoe', 1, '39', 1795900533597413, 1, 1795900534024324, 'api:ca110dfc46d353f9:0', 1795900533597413),
	(1, 1, 1, 'seat', 2, '12', 1795900534024324, 1, 1795900534024324, 'api:ca110dfc46d353f9:0', 1795900534024324);
INSERT INTO public.dedupe_key VALUES
	(1, '\x3f15b51c6cf7f7f96fb17e935b7ff3e1', 1, 1795900534099462, NULL),
	(1, '\xab7ae0c507dda7fa5ca3e4904f223e4a', 2, 1795900534168766, NULL),
	(1, '\x6980498a7481751243e2dedd3f4c4990', 3, 1795900534176392, NULL),
	(1, '\x47ab7aadaa691f2d348dd34b96321df2', 4, 1795900534194151, NULL),
	(1, '\x8e03f26e573a539b82a2a67aea3c5d38', 5, 1795900534231765, NULL),
	(1, '\x3e5e6c6446119696f1083b26fddaf1c3', 6, 1795900534241141, NULL),
	(1, '\xcee993b756ba4cbf301cf0b8583997f5', 7, 1795900534282375, NULL);
INSERT INTO public.deleted_link VALUES
	(1, '', 'email', 'eve@example.org', 1, 5, NULL, 1795900537537383);
INSERT INTO public.deleted_record VALUES
	(1, 1, 5, 1795900537537383, '{"record":{"client":1,"id":5,"created_us":1795900533936422,"updated_us":1795900533936422,"email":"eve@example.org","email_key":"eve@example.org","linkedin_url":null,"linkedin_key":null,"first_name":"Eve","last_name":null,"company_id":null,"origin":null,"external_id":null,"from_api":true,"initial_status":null,"status":null,"previous_status":null,"status_changed_us":null,"status_entry_us":null,"status_entry_key":null,"status_cause":null,"status_path":null,"first_sent_us":null,"last_sent_us":null,"last_reply_us":null,"stamps":{},"custom_fields":[],"suppressed":null},"contacts":[]}');
INSERT INTO public.delivery VALUES
	(1, 1, 'email_campaign', 'applied', 1795900534099462, 'instantly', 1, 0, NULL, 1795900534171373, 0, 284, '\x3f15b51c6cf7f7f96fb17e935b7ff3e1', 1, NULL, NULL, NULL, NULL, 1, NULL, NULL),
	(1, 2, 'email_campaign', 'applied', 1795900534168766, 'instantly', 1, 0, NULL, 1795900534171373, 0, 288, '\xab7ae0c507dda7fa5ca3e4904f223e4a', 1, NULL, NULL, NULL, NULL, 1, NULL, NULL),
	(1, 3, 'email_campaign', 'applied', 1795900534176392, 'instantly', 1, 0, NULL, 1795900537080669, 0, 208, '\x6980498a7481751243e2dedd3f4c4990', 1, NULL, NULL, NULL, NULL, 1, NULL, NULL),
	(1, 4, 'email_campaign', 'applied', 1795900534194151, 'instantly', 1, 0, NULL, 1795900537080669, 0, 212, '\x47ab7aadaa691f2d348dd34b96321df2', 1, NULL, NULL, NULL, NULL, 1, NULL, NULL),
	(1, 5, 'email_campaign', 'unrecognised', 1795900534231765, 'instantly', 1, 0, 'The connection says ''instantly'', but this webhook is not from it. Is the address configured in another tool?', NULL, 0, 95, '\x8e03f26e573a539b82a2a67aea3c5d38', 1, 'lead_out_of_space
event_type, timestamp, workspace', NULL, NULL, NULL, 0, NULL, NULL),
	(1, 6, 'email_campaign', 'unrecognised', 1795900534241141, 'instantly', 1, 0, 'The connection says ''instantly'', but this webhook is not from it. Is the address configured in another tool?', NULL, 0, 20, '\x3e5e6c6446119696f1083b26fddaf1c3', 1, '
nothing', NULL, NULL, NULL, 0, NULL, NULL),
	(1, 7, 'crm', 'parked', 1795900534282375, 'hubspot', 1, 0, 'waits until a webhook names the e-mail address or domain of this object', NULL, 0, 195, '\xcee993b756ba4cbf301cf0b8583997f5', 0, 'contact.creation
appId, attemptNumber, changeFlag, eventId, objectId, occurredAt, portalId, subscriptionId, subscriptionType', NULL, NULL, NULL, 1, NULL, NULL);
INSERT INTO public.delivery_body VALUES
	(1, 1, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22782d636c69656e742d6964223a2261636d65222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b226576656e745f74797065223a2022656d61696c5f73656e74222c202274696d657374616d70223a2022323032362d31312d32305430393a30303a30302e3030305a222c2022776f726b7370616365223a20227731222c202263616d706169676e5f6964223a20226331222c202263616d706169676e5f6e616d65223a2022417574756d6e222c20226c6561645f656d61696c223a2022616e6e406578616d706c652e636f6d222c2022656d61696c5f6163636f756e74223a2022796f75406578616d706c652e6e6574222c2022656d61696c5f6964223a20226d2d31222c2022656d61696c5f7375626a656374223a202248656c6c6f222c2022656d61696c5f68746d6c223a20223c703e48656c6c6f20416e6e3c2f703e227d'),
	(1, 2, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22782d636c69656e742d6964223a2261636d65222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b226576656e745f74797065223a20227265706c795f7265636569766564222c202274696d657374616d70223a2022323032362d31312d32315430393a30303a30302e3030305a222c2022776f726b7370616365223a20227731222c202263616d706169676e5f6964223a20226331222c202263616d706169676e5f6e616d65223a2022417574756d6e222c20226c6561645f656d61696c223a2022616e6e406578616d706c652e636f6d222c2022656d61696c5f6163636f756e74223a2022796f75406578616d706c652e6e6574222c2022656d61696c5f6964223a20226d2d32222c20227265706c795f7375626a656374223a202252653a2048656c6c6f222c20227265706c795f74657874223a202254656c6c206d65206d6f7265227d'),
	(1, 3, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22782d636c69656e742d6964223a2261636d65222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b226576656e745f74797065223a2022656d61696c5f626f756e636564222c202274696d657374616d70223a2022323032362d31312d32315431303a30303a30302e3030305a222c2022776f726b7370616365223a20227731222c202263616d706169676e5f6964223a20226331222c202263616d706169676e5f6e616d65223a2022417574756d6e222c20226c6561645f656d61696c223a2022646565406578616d706c652e6f7267222c2022656d61696c5f6163636f756e74223a2022796f75406578616d706c652e6e6574227d'),
	(1, 4, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22782d636c69656e742d6964223a2261636d65222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b226576656e745f74797065223a20226c6561645f756e73756273637269626564222c202274696d657374616d70223a2022323032362d31312d32315431313a30303a30302e3030305a222c2022776f726b7370616365223a20227731222c202263616d706169676e5f6964223a20226331222c202263616d706169676e5f6e616d65223a2022417574756d6e222c20226c6561645f656d61696c223a2022626f62406578616d706c652e636f6d222c2022656d61696c5f6163636f756e74223a2022796f75406578616d706c652e6e6574227d'),
	(1, 5, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22782d636c69656e742d6964223a2261636d65222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b226576656e745f74797065223a20226c6561645f6f75745f6f665f7370616365222c202274696d657374616d70223a2022323032362d31312d32315431313a30303a30302e3030305a222c2022776f726b7370616365223a20227731227d'),
	(1, 6, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22782d636c69656e742d6964223a2261636d65222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b226e6f7468696e67223a20226b6e6f776e227d'),
	(1, 7, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22782d636c69656e742d6964223a2261636d65222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x5b7b226576656e744964223a20312c2022737562736372697074696f6e4964223a20322c2022706f7274616c4964223a20332c20226170704964223a20342c20226f636375727265644174223a20313739353830303030303030302c2022737562736372697074696f6e54797065223a2022636f6e746163742e6372656174696f6e222c2022617474656d70744e756d626572223a20302c20226f626a6563744964223a203530312c20226368616e6765466c6167223a202243524541544544227d5d');
INSERT INTO public.dispatch_lease VALUES
	('shard 23', '', 0),
	('shard 24', '', 0),
	('shard 25', '', 0),
	('shard 26', '', 0),
	('shard 27', '', 0),
	('shard 28', '', 0),
	('shard 29', '', 0),
	('shard 30', '', 0),
	('shard 31', '', 0),
	('shard 00', '', 0),
	('shard 01', '', 0),
	('shard 02', '', 0),
	('shard 03', '', 0),
	('shard 04', '', 0),
	('shard 05', '', 0),
	('shard 06', '', 0),
	('shard 07', '', 0),
	('shard 08', '', 0),
	('shard 09', '', 0),
	('shard 10', '', 0),
	('shard 11', '', 0),
	('shard 12', '', 0),
	('shard 13', '', 0),
	('shard 14', '', 0),
	('shard 15', '', 0),
	('shard 16', '', 0),
	('shard 17', '', 0),
	('shard 18', '', 0),
	('shard 19', '', 0),
	('shard 20', '', 0),
	('shard 21', '', 0),
	('shard 22', '', 0);
INSERT INTO public.encryption_key VALUES
	('01a0c79c3bc2', 'sealed:1:01a0c79c3bc2:2-eoziHTIy-8DgToPirB9stKALxtV85kF_V8Xhicitn9UhCP');
INSERT INTO public.erased VALUES
	(1, '\xa92e3199007956e1209f40ce7d08ddfdc7df7d850d98f5ca7d2b6eb061b4ef32', 1, 0, 1795900544193785);
INSERT INTO public.erasure VALUES
	(1, 1, 1795900544193785, 1795900546603737, 7, 7, '{"contacts":1,"custom_fields":0,"messages":0,"events":1,"wanted_records":0,"links":0,"company_claims":0,"kept_answers":0,"deleted_records":0,"deleted_links":0,"merges":0,"deliveries":0}');
INSERT INTO public.event VALUES
	(1, 2, 1, 1795900533473108, '', 'company.created', 'initial', 'prospect', 'api', 'api', NULL, NULL, 1795900533473108, 0, '{"fields":{"domain":"example.com","name":"Example","external_id":"co-1"},"by":[null,"d8bee9335b4d459f00000007"]}', NULL),
	(1, 1, 1, 1795900533597413, '', 'contact.created', 'initial', 'new', 'api', 'api', NULL, NULL, 1795900533597413, 0, '{"fields":{"email":"Ann@example.com","first_name":"Ann","external_id":"c-1"},"by":[null,"d8bee9335b4d459f00000008"],"custom":{"shoe":"39"}}', NULL),
	(1, 1, 2, 1795900533832504, '', 'contact.created', '', NULL, 'api', 'api', NULL, NULL, 1795900533832504, 0, '{"fields":{"email":"bob@example.com","linkedin_url":"https://www.linkedin.com/in/bob-example"},"by":[null,"d8bee9335b4d459f00000009"]}', NULL),
	(1, 1, 3, 1795900533881760, '', 'contact.created', 'initial', 'new', 'api', 'api', NULL, NULL, 1795900533881760, 0, '{"fields":{"email":"cid@example.org"},"by":[null,"d8bee9335b4d459f0000000a"]}', NULL),
	(1, 1, 4, 1795900533912489, '', 'contact.created', '', NULL, 'api', 'api', NULL, NULL, 1795900533912489, 0, '{"fields":{"email":"dee@example.org"},"by":[null,"d8bee9335b4d459f0000000b"]}', NULL),
	(1, 1, 5, 1795900533936422, '', 'contact.created', '', NULL, 'api', 'api', NULL, NULL, 1795900533936422, 0, '{"fields":{"email":"eve@example.org","first_name":"Eve"},"by":[null,"d8bee9335b4d459f0000000c"]}', NULL),
	(1, 1, 1, 1795900534024324, 'api:ca110dfc46d353f9:0', 'contact.updated', '', NULL, 'api', 'api', NULL, NULL, 1795900534024324, 0, '{"by":[null,"d8bee9335b4d459f0000000f"],"fields":{"last_name":"Archer"},"custom":{"shoe":"39","seat":"12"}}', NULL),
	(1, 1, 1, 1795165200000000, '7d272801c7dcff8a9c3a6e71', 'email_sent', 'sent', 'contacted', 'instantly', 'email_campaign', 'Autumn', 1, 1795900534099462, 1, '{"named":{"email":"ann@example.com"}}', 'c1'),
	(1, 1, 1, 1795251600000000, 'eb1e4483aa9117c5183a936b', 'email_replied', 'reply', 'replied', 'instantly', 'email_campaign', 'Autumn', 2, 1795900534168766, 1, '{"source":"reply_received","named":{"email":"ann@example.com"}}', 'c1'),
	(1, 1, 4, 1795255200000000, 'c38f59d2f5a691a001d20f69', 'email_bounced', '', NULL, 'instantly', 'email_campaign', 'Autumn', 3, 1795900534176392, 1, '{"kind":"unknown","named":{"email":"dee@example.org"}}', 'c1'),
	(1, 1, 2, 1795258800000000, 'e03f3b33acc0345d97a03262', 'email_unsubscribed', 'unsubscribe', 'do_not_contact', 'instantly', 'email_campaign', 'Autumn', 4, 1795900534194151, 1, '{"source":"lead_unsubscribed","named":{"email":"bob@example.com"}}', 'c1'),
	(1, 3, 6, 1795800000000000, '1721ac8661589b4a0e7c846b', 'contact.created', '', NULL, 'hubspot', 'crm', NULL, 7, 1795900534282375, 3, '{"source":"contact.creation","object":["contact","501"]}', NULL),
	(1, 1, 3, 1795341600000000, 'api:ca110dfc46d353f9:1', 'message.sent', '', NULL, 'api', 'api', NULL, NULL, 1795900537489001, 0, '{"by":[null,"d8bee9335b4d459f0000002c"]}', NULL),
	(1, 1, 5, 1795900537537383, 'api:ca110dfc46d353f9:2', 'contact.deleted', '', NULL, 'api', 'api', NULL, NULL, 1795900537537383, 0, '{"by":[null,"d8bee9335b4d459f0000002d"]}', NULL),
	(1, 1, 3, 1795900534009756, 'api:created:7', 'contact.created', '', NULL, 'api', 'api', NULL, NULL, 1795900534009756, 0, '{"fields":{"email":"cid@other.example.org"},"by":[null,"d8bee9335b4d459f0000000e"],"merged_from":[7]}', NULL),
	(1, 1, 3, 1795900537620229, 'api:ca110dfc46d353f9:3', 'contact.merged', '', NULL, 'api', 'api', NULL, NULL, 1795900537620229, 0, '{"by":[null,"d8bee9335b4d459f0000002e"],"merge":{"id":1,"records":[7],"addresses":["cid@example.org","cid@other.example.org"]},"fields":{"email":"cid@example.org"}}', NULL),
	(1, 1, 13, 1795900537923849, '', 'contact.created', '', NULL, 'api', 'api', NULL, NULL, 1795900537923849, 0, '{"fields":{"email":"fay@example.org","first_name":"Fay"},"by":[null,"job:5"]}', NULL),
	(2, 1, 14, 1795900538048260, '', 'contact.created', '', NULL, 'api', 'api', NULL, NULL, 1795900538048260, 0, '{"fields":{"email":"solo@beta.example"},"by":[null,"d8bee9335b4d459f00000034"]}', NULL);
INSERT INTO public.event_counter VALUES
	(2, 2),
	(1, 29);
INSERT INTO public.event_hour VALUES
	(1, 498657, 1),
	(1, 498681, 1),
	(1, 498683, 1);
INSERT INTO public.fetch_queue VALUES
	(1, 'hubspot', 'contact', '501', 0, 0, 1795900537080669, 1795900539080669, 0);
INSERT INTO public.id_block VALUES
	('first_key', 1),
	('webhook_attempt', 1),
	('cell_revision', 1),
	('client', 10001),
	('job', 10001),
	('company', 10001),
	('custom_field', 10001),
	('contact', 10001),
	('link', 10001),
	('delivery', 10001),
	('refusal', 10001),
	('suppression', 10001),
	('message', 10001),
	('installation_list', 2),
	('webhook_endpoint', 10001),
	('record_merge', 10001),
	('erasure', 10001);
INSERT INTO public.idempotency_key VALUES
	(1, 'create-ann', '\x97bdbf7bcfc8d5cde55bdb11a86b95cf', 1, 1, 1795900533590644, 1795986933590644, '\x94ccc9c4106170706c69636174696f6e2f6a736f6ec501ab7b226964223a312c22757064617465645f74696d65223a22323032362d31312d32385432313a31353a33332e3539373431335a222c2266697273745f6e616d65223a22416e6e222c226c6173745f6e616d65223a22222c226f726967696e223a22222c2266697273745f63616d706169676e5f656d61696c5f73656e74223a6e756c6c2c226c6173745f63616d706169676e5f656d61696c5f73656e74223a6e756c6c2c226c6173745f7265706c795f7265636569766564223a6e756c6c2c2270726576696f75735f737461747573223a6e756c6c2c227374617475735f6368616e6765645f6174223a6e756c6c2c22636f6e746163745f637573746f6d5f6669656c6473223a5b7b226964223a312c22757064617465645f74696d65223a22323032362d31312d32385432313a31353a33332e3539373431335a222c226669656c645f6e616d65223a2273686f65222c226669656c645f76616c7565223a223339227d5d2c22656d61696c223a22416e6e406578616d706c652e636f6d222c22636f6e746163745f737461747573223a226e6577222c2265787465726e616c5f6964223a22632d31227d9292c40465746167c40f22363631356361643562363465352292c4086c6f636174696f6ec4152f7075626c69632f76322f636f6e74616374732f31');
INSERT INTO public.installation_suppression VALUES
	('email', 'never@example.net', 36, 1795900537373242, 1795900537373242, 'requested', 'api', '', 1795900537373242, NULL);
INSERT INTO public.job VALUES
	(1, 3, 'contacts.link_companies', 'succeeded', 1795900533744065, 1795900533985494, 1795900533812038, 1795900533985494, '{"mode":"existing"}', '{"after":0,"scanned":4,"linked":0,"companies":0,"total":2,"done":true}', '{"contacts":2,"scanned":4,"linked":0,"companies_created":0,"percent":100}', NULL, 0, '', 0, 1795900544193785, NULL),
	(1, 5, 'contacts.import', 'succeeded', 1795900537728702, 1795900537952124, 1795900537820667, 1795900537952124, '{"mapping":{"record":"contact","columns":{"email":"email","first_name":"first_name"},"others":"custom","day_order":"","time_zone":"UTC","without_key":false},"mode":"upsert","match":"","dry_run":false,"delimiter":"","encoding":"","sheet":""}', '{"rows":2,"has_bad_rows":true}', '{"created":1,"updated":0,"unchanged":0,"duplicate_in_file":0,"invalid":1,"erased":0,"suppressed":0,"notices":{},"rows":2,"percent":100}', NULL, 0, '', 0, 1795900544193785, NULL);
INSERT INTO public.job_file VALUES
	(1, 5, 'input', 0, '\x656d61696c2c66697273745f6e616d650a666179406578616d706c652e6f72672c4661790a6e6f742d616e2d616464726573732c4e696c0a'),
	(1, 5, 'bad_rows', 0, '\x656d61696c2c66697273745f6e616d652c726f772c726561736f6e0d0a6e6f742d616e2d616464726573732c4e696c2c332c656d61696c3a206973206e6f7420616e20652d6d61696c20616464726573733a20416e20656d61696c2061646472657373206d757374206861766520616e20402d7369676e2e0d0a');
INSERT INTO public.link VALUES
	(1, 'hubspot', 'contact', '501', 6, NULL, NULL),
	(1, '', 'email', 'cid@example.org', 20, 1, 3),
	(1, '', 'contact', '7', 21, 1, 3),
	(1, '', 'email', 'cid@other.example.org', 22, 1, 3);
INSERT INTO public.logged_event VALUES
	(1, 1, 'company.created', 1795900533473108, 2, 1, '{"domain":[null,"example.com"],"name":[null,"Example"],"external_id":[null,"co-1"],"company_status":[null,"prospect"]}', '{"origin":"api","request_id":"d8bee9335b4d459f00000007"}', '{}'),
	(1, 2, 'contact.created', 1795900533597413, 1, 1, '{"email":[null,"Ann@example.com"],"first_name":[null,"Ann"],"external_id":[null,"c-1"],"contact_status":[null,"new"],"cf.shoe":[null,"39"]}', '{"origin":"api","request_id":"d8bee9335b4d459f00000008"}', '{}'),
	(1, 3, 'contact.created', 1795900533832504, 1, 2, '{"email":[null,"bob@example.com"],"linkedin_url":[null,"https://www.linkedin.com/in/bob-example"]}', '{"origin":"api","request_id":"d8bee9335b4d459f00000009"}', '{}'),
	(1, 4, 'contact.created', 1795900533881760, 1, 3, '{"email":[null,"cid@example.org"],"contact_status":[null,"new"]}', '{"origin":"api","request_id":"d8bee9335b4d459f0000000a"}', '{}'),
	(1, 5, 'contact.created', 1795900533912489, 1, 4, '{"email":[null,"dee@example.org"]}', '{"origin":"api","request_id":"d8bee9335b4d459f0000000b"}', '{}'),
	(1, 6, 'contact.updated', 1795900533852939, 1, 1, '{"company_id":[null,1]}', '{"origin":"domain","domain":"example.com"}', '{}'),
	(1, 7, 'contact.updated', 1795900533852939, 1, 2, '{"company_id":[null,1]}', '{"origin":"domain","domain":"example.com"}', '{}'),
	(1, 8, 'contact.created', 1795900533936422, 1, 5, '{"email":[null,"eve@example.org"],"first_name":[null,"Eve"]}', '{"origin":"api","request_id":"d8bee9335b4d459f0000000c"}', '{}'),
	(1, 10, 'contact.created', 1795900534009756, 1, 7, '{"email":[null,"cid@other.example.org"]}', '{"origin":"api","request_id":"d8bee9335b4d459f0000000e"}', '{}'),
	(1, 11, 'contact.updated', 1795900534024324, 1, 1, '{"last_name":[null,"Archer"],"cf.seat":[null,"12"]}', '{"origin":"api","request_id":"d8bee9335b4d459f0000000f"}', '{}'),
	(1, 12, 'contact.updated', 1795900534171373, 1, 1, '{"origin":[null,"instantly"],"first_campaign_email_sent":[null,"2026-11-20T09:00:00Z"],"last_campaign_email_sent":[null,"2026-11-20T09:00:00Z"]}', '{"origin":"delivery","tool":"instantly","channel":"email_campaign","deliveries":[1,2]}', '{}'),
	(1, 13, 'contact.status_changed', 1795900534171373, 1, 1, '{"previous_status":[null,"replied"],"status_changed_at":[null,"2026-11-28T21:15:33.597413Z"]}', '{"origin":"delivery","tool":"instantly","channel":"email_campaign","deliveries":[1,2]}', '{}'),
	(1, 14, 'contact.replied', 1795900534171373, 1, 1, '{"last_reply_received":[null,"2026-11-21T09:00:00Z"]}', '{"origin":"delivery","tool":"instantly","channel":"email_campaign","deliveries":[1,2]}', '{}'),
	(1, 15, 'message.sent', 1795900534171373, 1, 1, '{}', '{"origin":"delivery","tool":"instantly","channel":"email","deliveries":[1]}', '{"message_id":1,"direction":"sent","channel":"email","tool":"instantly"}'),
	(1, 16, 'message.received', 1795900534171373, 1, 1, '{}', '{"origin":"delivery","tool":"instantly","channel":"email","deliveries":[2]}', '{"message_id":2,"direction":"received","channel":"email","tool":"instantly"}'),
	(1, 17, 'contact.updated', 1795900537080669, 1, 2, '{"origin":[null,"instantly"]}', '{"origin":"delivery","tool":"instantly","channel":"email_campaign","deliveries":[4]}', '{}'),
	(1, 18, 'contact.status_changed', 1795900537080669, 1, 2, '{"contact_status":[null,"do_not_contact"],"status_changed_at":[null,"2026-11-21T11:00:00Z"]}', '{"origin":"delivery","tool":"instantly","channel":"email_campaign","deliveries":[4]}', '{}'),
	(1, 19, 'contact.updated', 1795900537080669, 1, 4, '{"origin":[null,"instantly"]}', '{"origin":"delivery","tool":"instantly","channel":"email_campaign","deliveries":[3]}', '{}'),
	(1, 20, 'suppression.added', 1795900537080669, NULL, NULL, '{}', '{"origin":"delivery","tool":"instantly","deliveries":[4]}', '{"suppression_id":17,"kind":"email","reason":"unsubscribed"}'),
	(1, 21, 'delivery.unrecognised', 1795900537080669, NULL, NULL, '{}', '{"origin":"delivery","tool":"instantly","channel":"email_campaign","deliveries":[5]}', '{"delivery_id":5,"channel":"email_campaign","tool":"instantly"}'),
	(1, 22, 'delivery.unrecognised', 1795900537080669, NULL, NULL, '{}', '{"origin":"delivery","tool":"instantly","channel":"email_campaign","deliveries":[6]}', '{"delivery_id":6,"channel":"email_campaign","tool":"instantly"}'),
	(1, 23, 'suppression.added', 1795900537333544, NULL, NULL, '{}', '{"origin":"api"}', '{"suppression_id":35,"kind":"domain","reason":"other"}'),
	(1, 24, 'message.sent', 1795900537489001, 1, 3, '{}', '{"origin":"api","request_id":"d8bee9335b4d459f0000002c"}', '{"message_id":3,"direction":"sent","channel":"email","tool":"api"}'),
	(1, 25, 'contact.deleted', 1795900537537383, 1, 5, '{}', '{"origin":"api","request_id":"d8bee9335b4d459f0000002d"}', '{}'),
	(1, 26, 'contact.merged', 1795900537620229, 1, 3, '{}', '{"origin":"api","request_id":"d8bee9335b4d459f0000002e"}', '{"merged":[7]}'),
	(1, 27, 'contact.created', 1795900537923849, 1, 13, '{"email":[null,"fay@example.org"],"first_name":[null,"Fay"]}', '{"origin":"job","request_id":"job:5","job_id":5}', '{}'),
	(2, 1, 'contact.created', 1795900538048260, 1, 14, '{"email":[null,"solo@beta.example"]}', '{"origin":"api","request_id":"d8bee9335b4d459f00000034"}', '{}'),
	(1, 9, 'contact.created', 1795900533985690, 1, 6, '{}', '{"origin":"api","request_id":"d8bee9335b4d459f0000000d"}', '{}'),
	(1, 28, 'contact.erased', 1795900544193785, 1, 6, '{}', '{"origin":"erasure","erasure_id":1}', '{}');
INSERT INTO public.message VALUES
	(1, 1, 'sent', 'email', 1795165200000000, '7d272801c7dcff8a9c3a6e71', 1, 1795900534099462, 'instantly', 'you@example.net', 'Hello', 'Hello Ann', '<p>Hello Ann</p>', 'c1', 'Autumn', NULL, 'm-1', NULL, NULL, NULL, '{}', 1795900534099462, 'instantly m-1', 1, 0),
	(1, 2, 'received', 'email', 1795251600000000, 'eb1e4483aa9117c5183a936b', 2, 1795900534168766, 'instantly', 'you@example.net', 'Re: Hello', 'Tell me more', NULL, 'c1', 'Autumn', NULL, NULL, NULL, NULL, NULL, '{}', 1795900534168766, NULL, 1, 0),
	(1, 3, 'sent', 'email', 1795341600000000, 'api:ca110dfc46d353f9:1', NULL, 1795900537489001, 'api', NULL, 'By hand', 'Hello Cid', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 1795900537489001, NULL, 1, 0);
INSERT INTO public.migration VALUES
	('0001_initial', 'eab5ce9c434992e9f7c11c578b03333fc56d77bf46bb30b6f1fe8782d84dbd4c'),
	('0002_search', '361294944bf649eb2236d6edbd7fff5af0312f60ed6377aff35e194e13a44821'),
	('0003_deleted_records', 'aac0774e0918d86d78c35708d2bd1da786f8a6ba1cc34e4f3c426e714751705f'),
	('0004_suppressions', '9157415a68ec3064c581a559a0756ebdf49ef163c407653d2ac4d3623b41a232'),
	('0005_jobs', 'b36c923d1f4218346d23fa518213901e8d4e49b39afd52da5b126a5b348d5d97'),
	('0006_reports', '031fa3173c5e95ecc04f1310c6b1aca3dae0953ecd48524b6c14b0653467d9a8'),
	('0007_external_ids', '4c613008bd1e23a00284bd7295fbd191f969a5e6417d12ba718f5105d1a2cd02'),
	('0008_silences', 'bb1e695e0e8aa598c275911df364b452c1322fcd20b1c57628396f9d0f73a62d'),
	('0010_event_log', '4dcf0b09a567366cc41425146a79c4aa451a1ab570ac018450073975f42edff9'),
	('0011_outgoing', '83bf18a312fb9a4b0b82fb0234c056eb44df48a4a782ac188b9b43942a684e49'),
	('0012_company_links', 'fa0cf943b7006ffc2d75251059e73f2e1c7dc013fda39970aa90eaf35cdd8b26'),
	('0013_messages', 'e3bef69713edc1c3f394defb6dbb6f65c206b2ef697f98509a0580a37d876b99'),
	('0014_receivers', '43386bb5d2395a5f9738f3f9e647b2a50e8d179443f87d542a74b90ef44674e2'),
	('0015_report_parts', 'e5a6fb4766c81eaa4a5bc8e77304128cf77a4441f7acea9bc15041e66b01c521'),
	('0016_delivery_traces', '43ca393bc9c7db3fc552b65eb25d421d01c1b8683c57b06bb8693a88ef8ace44'),
	('0017_cells', '0d70930aefcfbd9a7132d4fe03a3f76040b1085fe7ba13327fc4dcdf37c30392'),
	('0018_moves', '21dfde812bc6afc63a05e136c288177b1dac73c464f961c08816bda49293de22');
INSERT INTO public.pending_domain_link VALUES
	(1, 1, 3, 'example.org'),
	(1, 1, 4, 'example.org'),
	(1, 1, 13, 'example.org');
INSERT INTO public.record_merge VALUES
	(1, 1, 1, 3, 1795900537620229, NULL, '{"survivor":{"record":{"client":1,"id":3,"created_us":1795900533881760,"updated_us":1795900533881760,"email":"cid@example.org","email_key":"cid@example.org","linkedin_url":null,"linkedin_key":null,"first_name":null,"last_name":null,"company_id":null,"origin":null,"external_id":null,"from_api":true,"initial_status":null,"status":"new","previous_status":null,"status_changed_us":null,"status_entry_us":1795900533881760,"status_entry_key":"","status_cause":"initial","status_path":"{\"1795900533881760\":\"new\"}","first_sent_us":null,"last_sent_us":null,"last_reply_us":null,"stamps":{},"custom_fields":[],"suppressed":null},"links":[],"contacts":[]},"absorbed":[{"record":{"client":1,"id":7,"created_us":1795900534009756,"updated_us":1795900534009756,"email":"cid@other.example.org","email_key":"cid@other.example.org","linkedin_url":null,"linkedin_key":null,"first_name":null,"last_name":null,"company_id":null,"origin":null,"external_id":null,"from_api":true,"initial_status":null,"status":null,"previous_status":null,"status_changed_us":null,"status_entry_us":null,"status_entry_key":null,"status_cause":null,"status_path":null,"first_sent_us":null,"last_sent_us":null,"last_reply_us":null,"stamps":{},"custom_fields":[],"suppressed":null},"links":[],"contacts":[]}]}');
INSERT INTO public.refusal VALUES
	(1, 1795900534262994, 1, '', 'email_campaign', 'instantly', 'not_verified', 205, 1, '{"user-agent":"Python-urllib/3.11","content-type":"application/json"}'),
	(0, 1795900534300686, 2, 'nobody', 'email_campaign', NULL, 'unknown_client', 0, 1, '{"user-agent":"Python-urllib/3.11","content-type":"application/json"}');
INSERT INTO public.search_index VALUES
	(1, 2, '''1f3d5c3666'' ''1fc1b7a849'' ''1p12'' ''1p39'' ''1pann'' ''1parcher'' ''1pcom'' ''1pexample'''),
	(1, 3, '''1ccom'' ''1cexample'''),
	(1, 4, '''1pbob'' ''1pcom'' ''1pexample'''),
	(1, 8, '''1pdee'' ''1pexample'' ''1porg'''),
	(1, 6, '''1pcid'' ''1pexample'' ''1porg'''),
	(1, 26, '''1pexample'' ''1pfay'' ''1porg'''),
	(2, 28, '''2pbeta'' ''2pexample'' ''2psolo''');
INSERT INTO public.server_secret VALUES
	('erasure', '\xdbe97d3f4ca9f7ae49468209f5e46063b27df98075a28b18001f7e376a5fd4b3');
INSERT INTO public.silence_check VALUES
	(1, 1795900532409758, 1795900532409758);
INSERT INTO public.suppression VALUES
	(1, 'email', 'bob@example.com', 17, 0, 1795900537080669, 1795900537080669, 0, 'unsubscribed', 'event', '', 1795258800000000, NULL, 'instantly', 4),
	(1, 'domain', 'competitor.example', 35, 0, 1795900537333544, 1795900537333544, 0, 'other', 'api', 'a competitor', 1795900537333544, NULL, NULL, NULL);
INSERT INTO public.suppression_cause VALUES
	(1, 'email', 'bob@example.com', 'e03f3b33acc0345d97a03262 1795258800000000', 'unsubscribed', 'event', '', 1795258800000000, NULL, 1795258800000000, 'instantly', 4),
	(1, 'domain', 'competitor.example', '', 'other', 'api', 'a competitor', 1795900537333544, NULL, 1795900537333544, NULL, NULL);
INSERT INTO public.webhook_endpoint VALUES
	(1, 1, 'https://hooks.example.com/touchbase', '["contact.updated"]', '[]', '{}', 'per_record', 'standard', 0, '', 'sealed:1:01a0c79c3bc2:7mq6o5ABMZOz2zATstPFicxNaTp9kEbaIApPyLP0yxsz3e2nmI6jH4vDifl3Fzbse6xWxdmZsNh6XJCQk_8cLDoKBzOzn_UsF9kUanDitlHHtIGofUvxc0A=', 'disabled', NULL, 1795900537465892, 1795900537392398, 1795900537465892, 2, 'webhook', '{}');
INSERT INTO public.webhook_position VALUES
	(1, 1, 23, 23, NULL, NULL);
SELECT pg_catalog.setval('public.moving_change_sequence_seq', 1, false);
ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.cell
    ADD CONSTRAINT cell_name_key UNIQUE (name);
ALTER TABLE ONLY public.cell
    ADD CONSTRAINT cell_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.client_alias
    ADD CONSTRAINT client_alias_pkey PRIMARY KEY (client_id);
ALTER TABLE ONLY public.client
    ADD CONSTRAINT client_client_id_key UNIQUE (client_id);
ALTER TABLE ONLY public.client_move
    ADD CONSTRAINT client_move_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.client
    ADD CONSTRAINT client_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.client_place
    ADD CONSTRAINT client_place_pkey PRIMARY KEY (client_id);
ALTER TABLE ONLY public.company_linking
    ADD CONSTRAINT company_linking_pkey PRIMARY KEY (client);
ALTER TABLE ONLY public.company
    ADD CONSTRAINT company_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.connection_calls
    ADD CONSTRAINT connection_calls_pkey PRIMARY KEY (client, channel, tool, hour);
ALTER TABLE ONLY public.connection
    ADD CONSTRAINT connection_pkey PRIMARY KEY (client, channel, tool);
ALTER TABLE ONLY public.connection_rhythm
    ADD CONSTRAINT connection_rhythm_pkey PRIMARY KEY (client, channel, tool);
ALTER TABLE ONLY public.connection_silence
    ADD CONSTRAINT connection_silence_pkey PRIMARY KEY (client, channel, tool, noticed_us);
ALTER TABLE ONLY public.contact
    ADD CONSTRAINT contact_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.custom_field
    ADD CONSTRAINT custom_field_pkey PRIMARY KEY (client, record_kind, record_id, name);
ALTER TABLE ONLY public.dedupe_key
    ADD CONSTRAINT dedupe_key_pkey PRIMARY KEY (client, key);
ALTER TABLE ONLY public.deleted_link
    ADD CONSTRAINT deleted_link_pkey PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id);
ALTER TABLE ONLY public.deleted_record
    ADD CONSTRAINT deleted_record_pkey PRIMARY KEY (client, record_kind, record_id);
ALTER TABLE ONLY public.delivery_body
    ADD CONSTRAINT delivery_body_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.dispatch_lease
    ADD CONSTRAINT dispatch_lease_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.encryption_key
    ADD CONSTRAINT encryption_key_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.erased
    ADD CONSTRAINT erased_pkey PRIMARY KEY (client, digest);
ALTER TABLE ONLY public.erasure
    ADD CONSTRAINT erasure_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.event_counter
    ADD CONSTRAINT event_counter_pkey PRIMARY KEY (client);
ALTER TABLE ONLY public.event_hour
    ADD CONSTRAINT event_hour_pkey PRIMARY KEY (client, hour);
ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (client, record_kind, record_id, occurred_us, key);
ALTER TABLE ONLY public.fetch_queue
    ADD CONSTRAINT fetch_queue_pkey PRIMARY KEY (client, tool, object_type, object_id);
ALTER TABLE ONLY public.fetch_state
    ADD CONSTRAINT fetch_state_pkey PRIMARY KEY (client, tool);
ALTER TABLE ONLY public.id_block
    ADD CONSTRAINT id_block_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (client, key);
ALTER TABLE ONLY public.import_mapping
    ADD CONSTRAINT import_mapping_pkey PRIMARY KEY (client, record, name);
ALTER TABLE ONLY public.installation_suppression
    ADD CONSTRAINT installation_suppression_pkey PRIMARY KEY (kind, value);
ALTER TABLE ONLY public.job_file
    ADD CONSTRAINT job_file_pkey PRIMARY KEY (client, job_id, name, number);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.key_place
    ADD CONSTRAINT key_place_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.link
    ADD CONSTRAINT link_pkey PRIMARY KEY (client, tool, object_type, object_id);
ALTER TABLE ONLY public.logged_event
    ADD CONSTRAINT logged_event_pkey PRIMARY KEY (client, sequence);
ALTER TABLE ONLY public.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.moving_change
    ADD CONSTRAINT moving_change_pkey PRIMARY KEY (sequence);
ALTER TABLE ONLY public.moving_client
    ADD CONSTRAINT moving_client_pkey PRIMARY KEY (number);
ALTER TABLE ONLY public.pending_company_link
    ADD CONSTRAINT pending_company_link_pkey PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id);
ALTER TABLE ONLY public.pending_domain_link
    ADD CONSTRAINT pending_domain_link_pkey PRIMARY KEY (client, record_kind, record_id);
ALTER TABLE ONLY public.pending_webhook
    ADD CONSTRAINT pending_webhook_pkey PRIMARY KEY (client, endpoint_id, sequence);
ALTER TABLE ONLY public.record_merge
    ADD CONSTRAINT record_merge_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.refusal
    ADD CONSTRAINT refusal_pkey PRIMARY KEY (client, received_us, id);
ALTER TABLE ONLY public.report_part
    ADD CONSTRAINT report_part_pkey PRIMARY KEY (client, begin_us, end_us);
ALTER TABLE ONLY public.search_index
    ADD CONSTRAINT search_index_pkey PRIMARY KEY (client, record);
ALTER TABLE ONLY public.search_pending
    ADD CONSTRAINT search_pending_pkey PRIMARY KEY (client, record_kind, record_id);
ALTER TABLE ONLY public.server_secret
    ADD CONSTRAINT server_secret_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.silence_check
    ADD CONSTRAINT silence_check_pkey PRIMARY KEY (one);
ALTER TABLE ONLY public.suppression_cause
    ADD CONSTRAINT suppression_cause_pkey PRIMARY KEY (client, kind, value, key);
ALTER TABLE ONLY public.suppression
    ADD CONSTRAINT suppression_pkey PRIMARY KEY (client, kind, value);
ALTER TABLE ONLY public.webhook_attempt
    ADD CONSTRAINT webhook_attempt_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.webhook_endpoint
    ADD CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.webhook_position
    ADD CONSTRAINT webhook_position_pkey PRIMARY KEY (client, endpoint_id);
CREATE INDEX api_key_client ON public.api_key USING btree (client, key_id);
CREATE INDEX client_alias_client ON public.client_alias USING btree (client, client_id);
CREATE INDEX client_deleting ON public.client USING btree (state) WHERE (state = 'deleting'::text);
CREATE INDEX client_linking ON public.client USING btree (id) WHERE (settings <> replace(replace(settings, '"link_companies_by_email":"existing"'::text, ''::text), '"link_companies_by_email":"create"'::text, ''::text));
CREATE INDEX client_place_number ON public.client_place USING btree (number);
CREATE INDEX client_place_revision ON public.client_place USING btree (revision);
CREATE INDEX company_created ON public.company USING btree (client, created_us, id);
CREATE UNIQUE INDEX company_domain ON public.company USING btree (client, domain);
CREATE UNIQUE INDEX company_external_id ON public.company USING btree (client, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX company_name ON public.company USING btree (client, lower(name), id) WHERE (name IS NOT NULL);
CREATE INDEX company_status ON public.company USING btree (client, status, created_us, id) WHERE (status IS NOT NULL);
CREATE INDEX company_status_updated ON public.company USING btree (client, status, updated_us, id) WHERE (status IS NOT NULL);
CREATE INDEX company_updated ON public.company USING btree (client, updated_us, id);
CREATE INDEX connection_silence_open ON public.connection_silence USING btree (client, channel, tool) WHERE (ended_us IS NULL);
CREATE INDEX contact_address ON public.contact USING btree (client, replace(email_key, rtrim(email_key, replace(email_key, '@'::text, ''::text)), ''::text), email_key, id) WHERE (email_key IS NOT NULL);
CREATE INDEX contact_company ON public.contact USING btree (client, company_id, created_us, id) WHERE (company_id IS NOT NULL);
CREATE INDEX contact_created ON public.contact USING btree (client, created_us, id);
CREATE UNIQUE INDEX contact_email ON public.contact USING btree (client, email_key) WHERE (email_key IS NOT NULL);
CREATE UNIQUE INDEX contact_external_id ON public.contact USING btree (client, external_id) WHERE (external_id IS NOT NULL);
CREATE INDEX contact_last_reply ON public.contact USING btree (client, last_reply_us, id) WHERE (last_reply_us IS NOT NULL);
CREATE INDEX contact_last_sent ON public.contact USING btree (client, last_sent_us, id) WHERE (last_sent_us IS NOT NULL);
CREATE UNIQUE INDEX contact_linkedin ON public.contact USING btree (client, linkedin_key) WHERE (linkedin_key IS NOT NULL);
CREATE INDEX contact_status ON public.contact USING btree (client, status, created_us, id) WHERE (status IS NOT NULL);
CREATE INDEX contact_status_updated ON public.contact USING btree (client, status, updated_us, id) WHERE (status IS NOT NULL);
CREATE INDEX contact_surname ON public.contact USING btree (client, lower(last_name), lower(COALESCE(first_name, ''::text)), id) WHERE (last_name IS NOT NULL);
CREATE INDEX contact_updated ON public.contact USING btree (client, updated_us, id);
CREATE INDEX dedupe_key_received ON public.dedupe_key USING btree (client, received_us);
CREATE INDEX deleted_link_record ON public.deleted_link USING btree (client, record_kind, record_id);
CREATE INDEX deleted_record_newest ON public.deleted_record USING btree (client, record_kind, deleted_us, record_id);
CREATE INDEX delivery_oldest ON public.delivery USING btree (state, received_us) WHERE (state = ANY (ARRAY['parked'::text, 'unrecognised'::text, 'failed'::text]));
CREATE INDEX delivery_problems ON public.delivery USING btree (client, id) WHERE (problems IS NOT NULL);
CREATE INDEX delivery_shape ON public.delivery USING btree (client, state, channel, tool, shape, received_us) WHERE (state = ANY (ARRAY['parked'::text, 'unrecognised'::text, 'failed'::text]));
CREATE INDEX delivery_stuck ON public.delivery USING btree (client, state, id) WHERE (state = ANY (ARRAY['parked'::text, 'unrecognised'::text, 'failed'::text]));
CREATE INDEX delivery_unproven ON public.delivery USING btree (client, id, size, received_us) WHERE ((state = 'unrecognised'::text) AND (body_removed IS NULL) AND ((verified IS NULL) OR (verified = 0)));
CREATE INDEX delivery_waiting ON public.delivery USING btree (client, next_attempt_us, id) WHERE (state = 'received'::text);
CREATE INDEX delivery_with_body ON public.delivery USING btree (client, applied_us, id) WHERE ((applied_us IS NOT NULL) AND (body_removed IS NULL));
CREATE INDEX erased_together ON public.erased USING btree (client, erasure);
CREATE INDEX erasure_open ON public.erasure USING btree (client, id) WHERE (done_us IS NULL);
CREATE INDEX event_delivery ON public.event USING btree (client, delivery_id) WHERE (delivery_id IS NOT NULL);
CREATE INDEX event_key ON public.event USING btree (client, key, occurred_us) WHERE ((delivery_id IS NOT NULL) OR (event = ANY (ARRAY['message.received'::text, 'message.sent'::text])));
CREATE INDEX event_report ON public.event USING btree (client, effect, occurred_us, record_id, tool, campaign_id, campaign) WHERE ((record_kind = 1) AND (effect = ANY (ARRAY['sent'::text, 'reply'::text, 'bounce'::text, 'unsubscribe'::text, 'complaint'::text])));
CREATE INDEX fetch_queue_due ON public.fetch_queue USING btree (client, tool, rank, next_us) WHERE (next_us IS NOT NULL);
CREATE INDEX idempotency_key_expires ON public.idempotency_key USING btree (expires_us);
CREATE INDEX idempotency_key_record ON public.idempotency_key USING btree (client, record_kind, record_id) WHERE (record_id IS NOT NULL);
CREATE INDEX installation_suppression_created ON public.installation_suppression USING btree (created_us, id);
CREATE UNIQUE INDEX installation_suppression_id ON public.installation_suppression USING btree (id);
CREATE INDEX job_due ON public.job USING btree (lease_until_us, client, id) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE INDEX job_files_until ON public.job USING btree (files_until_us, client, id) WHERE (files_until_us IS NOT NULL);
CREATE INDEX key_place_number ON public.key_place USING btree (number);
CREATE INDEX key_place_revision ON public.key_place USING btree (revision);
CREATE INDEX link_record ON public.link USING btree (client, record_kind, record_id) WHERE (record_id IS NOT NULL);
CREATE INDEX link_waiting ON public.link USING btree (client, id) WHERE (record_id IS NULL);
CREATE INDEX logged_event_merges ON public.logged_event USING btree (client) WHERE (type = ANY (ARRAY['contact.merged'::text, 'company.merged'::text]));
CREATE INDEX logged_event_of_record ON public.logged_event USING btree (client, record_kind, record_id) WHERE (record_id IS NOT NULL);
CREATE INDEX message_body ON public.message USING btree (client, received_us) WHERE (has_body = 1);
CREATE INDEX message_copies ON public.message USING btree (client, copy_key) WHERE (copy_key IS NOT NULL);
CREATE UNIQUE INDEX message_event ON public.message USING btree (client, event_key, occurred_us);
CREATE INDEX message_time ON public.message USING btree (client, occurred_us, id);
CREATE INDEX moving_change_number ON public.moving_change USING btree (number, sequence);
CREATE INDEX pending_company_link_record ON public.pending_company_link USING btree (client, record_kind, record_id);
CREATE INDEX pending_domain_link_domain ON public.pending_domain_link USING btree (client, domain, record_id);
CREATE INDEX record_merge_old ON public.record_merge USING btree (client, merged_us);
CREATE INDEX record_merge_survivor ON public.record_merge USING btree (client, record_kind, record_id);
CREATE INDEX refusal_newest ON public.refusal USING btree (received_us, id);
CREATE INDEX report_part_stored ON public.report_part USING btree (client, stored_us) WHERE ((end_us - begin_us) = '3600000000'::bigint);
CREATE INDEX search_index_words ON public.search_index USING gin (words);
CREATE INDEX suppression_created ON public.suppression USING btree (client, created_us, id) WHERE (reason IS NOT NULL);
CREATE INDEX suppression_hashed ON public.suppression USING btree (client) WHERE (hashed = 1);
CREATE UNIQUE INDEX suppression_id ON public.suppression USING btree (client, id);
CREATE INDEX suppression_kind ON public.suppression USING btree (client, kind, created_us, id) WHERE (reason IS NOT NULL);
CREATE INDEX suppression_reason ON public.suppression USING btree (client, reason, created_us, id) WHERE (reason IS NOT NULL);
CREATE INDEX webhook_attempt_by_time ON public.webhook_attempt USING btree (client, at);
CREATE INDEX webhook_attempt_of_endpoint ON public.webhook_attempt USING btree (client, endpoint_id, id);
CREATE INDEX webhook_attempt_of_event ON public.webhook_attempt USING btree (client, sequence, id);
ALTER TABLE ONLY public.contact
    ADD CONSTRAINT contact_client_company_id_fkey FOREIGN KEY (client, company_id) REFERENCES public.company(client, id);
ALTER TABLE public.api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.client ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.client_alias ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.company ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.company_linking ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.connection ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.connection_calls ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.connection_rhythm ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.connection_silence ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.contact ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.custom_field ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.dedupe_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.deleted_link ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.deleted_record ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.delivery ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.delivery_body ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.erased ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.erasure ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.event_counter ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.event_hour ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.fetch_queue ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.fetch_state ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.idempotency_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.import_mapping ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.job ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.job_file ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.link ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.logged_event ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.message ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_client ON public.api_key USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.client USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || id) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = ANY (ARRAY['all'::text, 'clients'::text]))));
CREATE POLICY of_client ON public.client_alias USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = ANY (ARRAY['all'::text, 'clients'::text]))));
CREATE POLICY of_client ON public.company USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.company_linking USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.connection USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.connection_calls USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.connection_rhythm USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.connection_silence USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.contact USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.custom_field USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.dedupe_key USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.deleted_link USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.deleted_record USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.delivery USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.delivery_body USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.erased USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = ANY (ARRAY['all'::text, 'clients'::text]))));
CREATE POLICY of_client ON public.erasure USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.event USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.event_counter USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.event_hour USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.fetch_queue USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.fetch_state USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.idempotency_key USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.import_mapping USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.job USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.job_file USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.link USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.logged_event USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.message USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.pending_company_link USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.pending_domain_link USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.pending_webhook USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.record_merge USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.refusal USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.report_part USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.search_index USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.search_pending USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.suppression USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.suppression_cause USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.webhook_attempt USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.webhook_endpoint USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.webhook_position USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
ALTER TABLE public.pending_company_link ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.pending_domain_link ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.pending_webhook ENABLE ROW LEVEL SECURITY;
CREATE POLICY read_numbers ON public.search_index FOR SELECT USING (true);
ALTER TABLE public.record_merge ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.refusal ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.report_part ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.search_index ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.search_pending ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.suppression ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.suppression_cause ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.webhook_attempt ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.webhook_endpoint ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.webhook_position ENABLE ROW LEVEL SECURITY;
