-- A store as the last revision before `0001_initial` made it (18 migrations, to `0021_order_of_creation`): the dump of a PostgreSQL database.
-- Its encryption key is in test_old_stores.py. Made once by `touchbase serve`, calls and `touchbase persons erase`; not to be edited.
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
CREATE TABLE public.company (
    client bigint NOT NULL,
    id bigint NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    domain text NOT NULL,
    name text,
    from_api bigint NOT NULL,
    initial_status text,
    status text,
    previous_status text,
    status_changed_us bigint,
    status_entry_us bigint,
    status_entry_key text,
    status_cause text,
    stamps text
);
ALTER TABLE ONLY public.company FORCE ROW LEVEL SECURITY;
CREATE TABLE public.company_claim (
    client bigint NOT NULL,
    tool text NOT NULL,
    object_type text NOT NULL,
    object_id text NOT NULL,
    record_kind bigint NOT NULL,
    record_id bigint NOT NULL,
    stamped_us bigint NOT NULL,
    stamp_key text NOT NULL
);
ALTER TABLE ONLY public.company_claim FORCE ROW LEVEL SECURITY;
CREATE TABLE public.connection (
    client bigint NOT NULL,
    channel text NOT NULL,
    tool text NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    secrets text NOT NULL,
    settings text NOT NULL,
    access_token text DEFAULT ''::text NOT NULL,
    guarded_us bigint
);
ALTER TABLE ONLY public.connection FORCE ROW LEVEL SECURITY;
CREATE TABLE public.contact (
    client bigint NOT NULL,
    id bigint NOT NULL,
    created_us bigint NOT NULL,
    updated_us bigint NOT NULL,
    email text,
    email_key text,
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
    stamps text
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
    body_gone text,
    body_gone_us bigint,
    twin bigint,
    dated bigint,
    problems text
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
    asked_us bigint NOT NULL,
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
    detail text NOT NULL
);
ALTER TABLE ONLY public.event FORCE ROW LEVEL SECURITY;
CREATE TABLE public.id_block (
    name text NOT NULL,
    next bigint NOT NULL
);
CREATE TABLE public.kept_answer (
    client bigint NOT NULL,
    key text NOT NULL,
    fingerprint bytea NOT NULL,
    record_kind bigint,
    record_id bigint,
    created_us bigint NOT NULL,
    expires_us bigint NOT NULL,
    answer bytea NOT NULL
);
ALTER TABLE ONLY public.kept_answer FORCE ROW LEVEL SECURITY;
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
CREATE TABLE public.migration (
    name text NOT NULL,
    digest text NOT NULL
);
CREATE TABLE public.recent_call (
    client bigint NOT NULL,
    key bytea NOT NULL,
    id bigint NOT NULL,
    received_us bigint NOT NULL,
    twin bigint
);
ALTER TABLE ONLY public.recent_call FORCE ROW LEVEL SECURITY;
CREATE TABLE public.record_source (
    client bigint NOT NULL,
    tool text NOT NULL,
    next_us bigint NOT NULL,
    failures bigint NOT NULL,
    stopped bigint NOT NULL,
    error text,
    error_us bigint,
    fetched_us bigint
);
ALTER TABLE ONLY public.record_source FORCE ROW LEVEL SECURITY;
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
CREATE TABLE public.seal_key (
    key_id text NOT NULL,
    canary text NOT NULL
);
CREATE TABLE public.server_secret (
    name text NOT NULL,
    value bytea NOT NULL
);
CREATE TABLE public.wanted_record (
    client bigint NOT NULL,
    tool text NOT NULL,
    object_type text NOT NULL,
    object_id text NOT NULL,
    rank bigint NOT NULL,
    thin bigint NOT NULL,
    wanted_us bigint NOT NULL,
    next_us bigint,
    attempts bigint NOT NULL
);
ALTER TABLE ONLY public.wanted_record FORCE ROW LEVEL SECURITY;
INSERT INTO public.api_key VALUES ('f6cf35358a24', '\x0e792d2a37b093cb715e469884aac57bf5222918aacbd6a8dffa3ba26384158f', '["records:read"]', 1, 'reader', 1795596317494142, 'live', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.client VALUES (1, 'default', 1795596311082880, '{"on_duplicate":"error","contact_statuses":null,"company_statuses":null,"contact_fields":{},"company_fields":{},"create_unknown":true,"linkedin_reply_counts":true,"limits":null,"keep_bodies_days":90,"require_verification":{"email_campaign":false,"crm":false}}', 'Acme Ltd', 'active', NULL, 0, NULL, 'administrator');
INSERT INTO public.client VALUES (2, '403389ef7184ceb84fa8bf1c024857fa15e39989', 1795596311117536, '{"on_duplicate":"error","contact_statuses":null,"company_statuses":null,"contact_fields":{},"company_fields":{},"create_unknown":true,"linkedin_reply_counts":true,"limits":null,"keep_bodies_days":90,"require_verification":{"email_campaign":false,"crm":false}}', 'Beta', 'active', NULL, 0, NULL, 'administrator');
INSERT INTO public.client_alias VALUES ('beta', 2, 1796201117438080);
INSERT INTO public.company VALUES (1, 1, 1795596311151887, 1795596311151887, 'example.com', 'Example', 1, NULL, 'prospect', NULL, NULL, 1795596311151887, '', 'initial', NULL);
INSERT INTO public.company_claim VALUES (1, 'hubspot', 'company:company', '900', 1, 7, 1790000003000000, '53666d761699281bbe1b579e');
INSERT INTO public.connection VALUES (1, 'crm', 'attio', 1795596311129279, 1795596311129279, '[]', '{"status_property":{},"status_labels":{},"objects":{},"create_unknown":null,"linkedin_reply_counts":null,"deals_set_status":false,"deal_labels":{},"time_zone":null,"fields":{},"api_base":null,"api_user":null,"location_id":null,"allow_v1_signatures":false,"signature_max_age":null}', 'sealed:1:01a0c79c3bc2:GliVWyujEXSxvg0NknZznv6Fvf2ygJxha1rRIiO7qROHVqxNFe5X', NULL);
INSERT INTO public.connection VALUES (1, 'email_campaign', 'instantly', 1795596311140940, 1795596311140940, 'sealed:1:01a0c79c3bc2:l0Ei2H89L20ViAht8KNhhgtaFhugLh2rKsu21vfBHKiL5ynVIHBT5G8g1tMT1TY0', '{"status_property":{},"status_labels":{},"objects":{},"create_unknown":null,"linkedin_reply_counts":null,"deals_set_status":false,"deal_labels":{},"time_zone":null,"fields":{},"api_base":null,"api_user":null,"location_id":null,"allow_v1_signatures":false,"signature_max_age":null}', '', 1795596311140940);
INSERT INTO public.contact VALUES (1, 1, 1795596311169826, 1795596311243783, 'ann@example.com', 'ann@example.com', 'https://www.linkedin.com/in/ann-adams', 'linkedin.com/in/ann-adams', 'Ann', 'Adams', 1, 'fair', 1, NULL, 'contacted', 'new', 1795596311213187, 1795596311213187, 'api:d052f38bcb580897:0', 'status', 1790845200000000, 1790845200000000, 1790931600000000, '{"api":[1,1795596311213187,"api:d052f38bcb580897:0"]}');
INSERT INTO public.contact VALUES (1, 3, 1795596311239057, 1795596311239057, 'bob@example.com', 'bob@example.com', NULL, NULL, 'Bob', NULL, NULL, 'instantly', 0, NULL, 'contacted', NULL, 1791018000000000, 1791018000000000, '2cb622303cc1060cdce02932', 'sent', 1791018000000000, 1791018000000000, NULL, '{"origin":[0,1791018000000000,"2cb622303cc1060cdce02932"],"email":[0,1791018000000000,"2cb622303cc1060cdce02932"],"first_name":[0,1791018000000000,"2cb622303cc1060cdce02932"]}');
INSERT INTO public.contact VALUES (1, 7, 1795596311265424, 1795596311265424, 'cid@example.org', 'cid@example.org', NULL, NULL, NULL, NULL, NULL, 'hubspot', 0, NULL, 'lead', NULL, 1790000002000000, 1790000002000000, '95a85ff6860bac128bfd6fda', 'status', NULL, NULL, NULL, '{"origin":[0,1790000001000000,"390938301bb6ca7002fafb7a"],"email":[1,1790000001000000,"390938301bb6ca7002fafb7a"]}');
INSERT INTO public.custom_field VALUES (1, 2, 1, 'tier', 1, 'gold', 1795596311151887, 1, 1795596311151887, '', 1795596311151887);
INSERT INTO public.custom_field VALUES (1, 1, 1, 'seat', 2, '12', 1795596311169826, 1, 1795596311169826, '', 1795596311169826);
INSERT INTO public.custom_field VALUES (1, 1, 1, 'shoe', 3, '39', 1795596311169826, 1, 1795596311169826, '', 1795596311169826);
INSERT INTO public.delivery VALUES (1, 1, 'email_campaign', 'applied', 1795596311229210, 'instantly', 1, 0, NULL, 1795596311243783, 0, 210, '\x17ebce55ba948eaffaf10e921358695f', 1, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.delivery VALUES (1, 2, 'email_campaign', 'applied', 1795596311237264, 'instantly', 1, 0, NULL, 1795596311243783, 0, 244, '\xa971b03aece5d6600923e40fb122f6f0', 1, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.delivery VALUES (1, 3, 'email_campaign', 'applied', 1795596311239057, 'instantly', 1, 0, NULL, 1795596311243783, 0, 231, '\x243d1d38e9459448243cecd783f15380', 1, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.delivery VALUES (1, 7, 'crm', 'applied', 1795596311265424, 'hubspot', 1, 0, NULL, 1795596312164270, 0, 820, '\x67aace494aaf5786706f7e3244e47fde', 0, NULL, NULL, NULL, NULL, 1, NULL);
INSERT INTO public.delivery VALUES (1, 5, 'crm', 'parked', 1795596311243328, 'attio', 1, 0, 'waits until a call names the e-mail address or domain of this object', NULL, 0, 278, '\x94eb38b05083421d964fa537f131b62f', 0, 'record.updated
events, webhook_id', NULL, NULL, NULL, 0, NULL);
INSERT INTO public.delivery VALUES (1, 6, 'crm', 'parked', 1795596311256456, 'hubspot', 1, 0, 'waits until a call names the e-mail address or domain of this object', NULL, 0, 220, '\x52179accb77640303d64776274beb473', 0, 'contact.creation
appId, attemptNumber, changeFlag, changeSource, eventId, objectId, occurredAt, portalId, subscriptionId, subscriptionType', NULL, NULL, NULL, 1, NULL);
INSERT INTO public.delivery VALUES (1, 8, 'email_campaign', 'ignored', 1795596311268998, 'instantly', 1, 0, 'everything in it was known already', 1795596312164270, 0, 210, '\x17ebce55ba948eaffaf10e921358695f', 1, 'email_sent
campaign_id, campaign_name, email_account, event_type, lead_email, timestamp, workspace', NULL, NULL, 1, 1, NULL);
INSERT INTO public.delivery VALUES (1, 9, 'crm', 'unrecognised', 1795596311280990, NULL, 1, 0, 'No adapter understands this body, not even the generic one.', NULL, 0, 41, '\x01f026dfe54415b1bdae2cffc8948592', 0, '
nobody, this', NULL, NULL, NULL, 0, NULL);
INSERT INTO public.delivery VALUES (1, 10, 'crm', 'ignored', 1795596311284877, 'hubspot', 1, 0, 'understood, but not used: deal.creation', 1795596312164270, 0, 169, '\xf14fc3560c2d6978b8f44bc7d45dc302', 0, 'deal.creation
appId, attemptNumber, eventId, objectId, occurredAt, portalId, subscriptionId, subscriptionType', NULL, NULL, NULL, 1, NULL);
INSERT INTO public.delivery VALUES (1, 4, 'email_campaign', 'ignored', 1795596311241257, 'instantly', 1, 0, 'about a person who was erased', 1795596311243783, 0, 210, '\x2e03189e79872f8d8e7cf419d99a8d4b', 1, NULL, 'erased', 1795596350795419, NULL, 1, NULL);
INSERT INTO public.delivery_body VALUES (1, 1, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b2274696d657374616d70223a2022323032362d31302d30315430393a30303a30302e3030305a222c20226576656e745f74797065223a2022656d61696c5f73656e74222c2022776f726b7370616365223a2022772d31222c202263616d706169676e5f6964223a2022632d31222c202263616d706169676e5f6e616d65223a2022617574756d6e222c20226c6561645f656d61696c223a2022616e6e406578616d706c652e636f6d222c2022656d61696c5f6163636f756e74223a202273616c65734061636d652e6578616d706c65227d');
INSERT INTO public.delivery_body VALUES (1, 2, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b2274696d657374616d70223a2022323032362d31302d30325430393a30303a30302e3030305a222c20226576656e745f74797065223a20227265706c795f7265636569766564222c2022776f726b7370616365223a2022772d31222c202263616d706169676e5f6964223a2022632d31222c202263616d706169676e5f6e616d65223a2022617574756d6e222c20226c6561645f656d61696c223a2022616e6e406578616d706c652e636f6d222c2022656d61696c5f6163636f756e74223a202273616c65734061636d652e6578616d706c65222c20227265706c795f74657874223a20225965732c2063616c6c206d65227d');
INSERT INTO public.delivery_body VALUES (1, 3, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b2274696d657374616d70223a2022323032362d31302d30335430393a30303a30302e3030305a222c20226576656e745f74797065223a2022656d61696c5f73656e74222c2022776f726b7370616365223a2022772d31222c202263616d706169676e5f6964223a2022632d31222c202263616d706169676e5f6e616d65223a2022617574756d6e222c20226c6561645f656d61696c223a2022626f62406578616d706c652e636f6d222c2022656d61696c5f6163636f756e74223a202273616c65734061636d652e6578616d706c65222c202266697273745f6e616d65223a2022426f62227d');
INSERT INTO public.delivery_body VALUES (1, 5, 'object=people', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b22776562686f6f6b5f6964223a202235643261303030302d303030302d343030302d383030302d303030303030303030306666222c20226576656e7473223a205b7b226576656e745f74797065223a20227265636f72642e75706461746564222c20226964223a207b22776f726b73706163655f6964223a2022772d31222c20226f626a6563745f6964223a202235643261303030302d303030302d343030302d383030302d303030303030303030306161222c20227265636f72645f6964223a2022722d32222c20226174747269627574655f6964223a2022612d31227d2c20226163746f72223a207b2274797065223a2022776f726b73706163652d6d656d626572222c20226964223a206e756c6c7d7d5d7d');
INSERT INTO public.delivery_body VALUES (1, 6, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x5b7b226576656e744964223a203130302c2022737562736372697074696f6e4964223a20312c2022706f7274616c4964223a20372c20226170704964223a20332c20226f636375727265644174223a20313739303030303030303030302c2022737562736372697074696f6e54797065223a2022636f6e746163742e6372656174696f6e222c2022617474656d70744e756d626572223a20302c20226f626a6563744964223a203530312c20226368616e6765466c6167223a202243524541544544222c20226368616e6765536f75726365223a202243524d227d5d');
INSERT INTO public.delivery_body VALUES (1, 7, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x5b7b226576656e744964223a203130312c2022737562736372697074696f6e4964223a20322c2022706f7274616c4964223a20372c20226170704964223a20332c20226f636375727265644174223a20313739303030303030313030302c2022737562736372697074696f6e54797065223a2022636f6e746163742e70726f70657274794368616e6765222c2022617474656d70744e756d626572223a20302c20226f626a6563744964223a203530322c202270726f70657274794e616d65223a2022656d61696c222c202270726f706572747956616c7565223a2022636964406578616d706c652e6f7267222c20226368616e6765536f75726365223a202243524d227d2c207b226576656e744964223a203130322c2022737562736372697074696f6e4964223a20322c2022706f7274616c4964223a20372c20226170704964223a20332c20226f636375727265644174223a20313739303030303030323030302c2022737562736372697074696f6e54797065223a2022636f6e746163742e70726f70657274794368616e6765222c2022617474656d70744e756d626572223a20302c20226f626a6563744964223a203530322c202270726f70657274794e616d65223a20226c6966656379636c657374616765222c202270726f706572747956616c7565223a20226c656164222c20226368616e6765536f75726365223a202243524d227d2c207b226576656e744964223a203130332c2022737562736372697074696f6e4964223a20342c2022706f7274616c4964223a20372c20226170704964223a20332c20226f636375727265644174223a20313739303030303030333030302c2022737562736372697074696f6e54797065223a2022636f6e746163742e6173736f63696174696f6e4368616e6765222c2022617474656d70744e756d626572223a20302c20226173736f63696174696f6e54797065223a2022434f4e544143545f544f5f434f4d50414e59222c202266726f6d4f626a6563744964223a203530322c2022746f4f626a6563744964223a203930302c20226173736f63696174696f6e52656d6f766564223a2066616c73652c20226368616e6765536f75726365223a202255534552227d5d');
INSERT INTO public.delivery_body VALUES (1, 8, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b2274696d657374616d70223a2022323032362d31302d30315430393a30303a30302e3030305a222c20226576656e745f74797065223a2022656d61696c5f73656e74222c2022776f726b7370616365223a2022772d31222c202263616d706169676e5f6964223a2022632d31222c202263616d706169676e5f6e616d65223a2022617574756d6e222c20226c6561645f656d61696c223a2022616e6e406578616d706c652e636f6d222c2022656d61696c5f6163636f756e74223a202273616c65734061636d652e6578616d706c65227d');
INSERT INTO public.delivery_body VALUES (1, 9, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x7b226e6f626f6479223a2022756e6465727374616e6473222c202274686973223a205b312c20325d7d');
INSERT INTO public.delivery_body VALUES (1, 10, '', '\x7b22757365722d6167656e74223a22507974686f6e2d75726c6c69622f332e3131222c22636f6e74656e742d74797065223a226170706c69636174696f6e2f6a736f6e227d', '\x5b7b226576656e744964223a203131302c2022737562736372697074696f6e4964223a20312c2022706f7274616c4964223a20372c20226170704964223a20332c20226f636375727265644174223a20313739303030303030303030302c2022737562736372697074696f6e54797065223a20226465616c2e6372656174696f6e222c2022617474656d70744e756d626572223a20302c20226f626a6563744964223a203630317d5d');
INSERT INTO public.erased VALUES (1, '\xbe8b4f669519f89976c44cfbb51e1b7c03c01254b85bdf033fed18eb66ccc551', 1, 0, 1795596350795419);
INSERT INTO public.erasure VALUES (1, 1, 1795596350795419, 1795596378519860, 10, 10, '{"contacts":1,"custom_fields":0,"events":2,"wanted_records":0,"links":0,"company_claims":0,"kept_answers":0,"deliveries":1}');
INSERT INTO public.event VALUES (1, 2, 1, 1795596311151887, '', 'company.created', 'initial', 'prospect', 'api', 'api', NULL, NULL, 1795596311151887, 0, '{"fields":{"domain":"example.com","name":"Example"},"by":[null,"22524c2107fcb34d00000005"],"custom":{"tier":"gold"}}');
INSERT INTO public.event VALUES (1, 1, 1, 1795596311169826, '', 'contact.created', 'initial', 'new', 'api', 'api', NULL, NULL, 1795596311169826, 0, '{"fields":{"email":"ann@example.com","linkedin_url":"https://www.linkedin.com/in/ann-adams","first_name":"Ann","last_name":"Adams","company_id":1,"origin":"fair"},"by":[null,"22524c2107fcb34d00000006"],"custom":{"seat":"12","shoe":"39"}}');
INSERT INTO public.event VALUES (1, 1, 1, 1795596311213187, 'api:d052f38bcb580897:0', 'contact.updated', 'status', 'contacted', 'api', 'api', NULL, NULL, 1795596311213187, 0, '{"by":[null,"22524c2107fcb34d00000008"]}');
INSERT INTO public.event VALUES (1, 1, 1, 1790845200000000, '7982cc34e49582090e31a878', 'email_sent', 'sent', 'contacted', 'instantly', 'email_campaign', 'autumn', 1, 1795596311229210, 1, '{"named":{"email":"ann@example.com"}}');
INSERT INTO public.event VALUES (1, 1, 1, 1790931600000000, 'ffe08c980fe627f644b13b91', 'email_replied', 'reply', 'replied', 'instantly', 'email_campaign', 'autumn', 2, 1795596311237264, 1, '{"source":"reply_received","named":{"email":"ann@example.com"}}');
INSERT INTO public.event VALUES (1, 1, 3, 1791018000000000, '2cb622303cc1060cdce02932', 'email_sent', 'sent', 'contacted', 'instantly', 'email_campaign', 'autumn', 3, 1795596311239057, 1, '{"carried":{"first_name":"Bob"},"named":{"email":"bob@example.com"}}');
INSERT INTO public.event VALUES (1, 3, 8, 1795596311243328, '93cd132622e96c6fd517d545', 'contact.updated', '', NULL, 'attio', 'crm', NULL, 5, 1795596311243328, 3, '{"source":"record.updated","changed":[["a-1",null,null]],"object":["people","r-2"]}');
INSERT INTO public.event VALUES (1, 3, 9, 1790000000000000, '29ce2b468e50271141f59f31', 'contact.created', '', NULL, 'hubspot', 'crm', NULL, 6, 1795596311256456, 3, '{"source":"contact.creation","object":["contact","501"]}');
INSERT INTO public.event VALUES (1, 1, 7, 1790000001000000, '390938301bb6ca7002fafb7a', 'contact.updated', '', NULL, 'hubspot', 'crm', NULL, 7, 1795596311265424, 1, '{"source":"contact.propertyChange","changed":[["email","cid@example.org",null]],"identity":{"email":"cid@example.org"},"object":["contact","502"],"named":{"email":"cid@example.org"}}');
INSERT INTO public.event VALUES (1, 1, 7, 1790000002000000, '95a85ff6860bac128bfd6fda', 'contact.status_changed', 'status', 'lead', 'hubspot', 'crm', NULL, 7, 1795596311265424, 3, '{"source":"contact.propertyChange","changed":[["lifecyclestage","lead",null]],"object":["contact","502"]}');
INSERT INTO public.event VALUES (1, 1, 7, 1790000003000000, '53666d761699281bbe1b579e', 'contact.updated', '', NULL, 'hubspot', 'crm', NULL, 7, 1795596311265424, 3, '{"source":"contact.associationChange","changed":[["company_id","900",null]],"object":["contact","502"],"company":["company","900"]}');
INSERT INTO public.id_block VALUES ('first_key', 1);
INSERT INTO public.id_block VALUES ('check', 1);
INSERT INTO public.id_block VALUES ('client', 10001);
INSERT INTO public.id_block VALUES ('company', 10001);
INSERT INTO public.id_block VALUES ('custom_field', 10001);
INSERT INTO public.id_block VALUES ('contact', 10001);
INSERT INTO public.id_block VALUES ('link', 10001);
INSERT INTO public.id_block VALUES ('delivery', 10001);
INSERT INTO public.id_block VALUES ('refusal', 10001);
INSERT INTO public.id_block VALUES ('erasure', 10001);
INSERT INTO public.kept_answer VALUES (1, 'create-ann', '\x122637e4a1f5d32d5878df07eb04995e', 1, 1, 1795596311168100, 1795682711168100, '\x94ccc9c4106170706c69636174696f6e2f6a736f6ec502437b226964223a312c22757064617465645f74696d65223a22323032362d31312d32355430383a34353a31312e3136393832365a222c2266697273745f6e616d65223a22416e6e222c226c6173745f6e616d65223a224164616d73222c226f726967696e223a2266616972222c2266697273745f63616d706169676e5f656d61696c5f73656e74223a6e756c6c2c226c6173745f63616d706169676e5f656d61696c5f73656e74223a6e756c6c2c226c6173745f7265706c795f7265636569766564223a6e756c6c2c2270726576696f75735f737461747573223a6e756c6c2c227374617475735f6368616e6765645f6174223a6e756c6c2c22636f6e746163745f637573746f6d5f6669656c6473223a5b7b226964223a322c22757064617465645f74696d65223a22323032362d31312d32355430383a34353a31312e3136393832365a222c226669656c645f6e616d65223a2273656174222c226669656c645f76616c7565223a223132227d2c7b226964223a332c22757064617465645f74696d65223a22323032362d31312d32355430383a34353a31312e3136393832365a222c226669656c645f6e616d65223a2273686f65222c226669656c645f76616c7565223a223339227d5d2c22656d61696c223a22616e6e406578616d706c652e636f6d222c226c696e6b6564696e5f75726c223a2268747470733a2f2f7777772e6c696e6b6564696e2e636f6d2f696e2f616e6e2d6164616d73222c22636f6d70616e795f6964223a312c22636f6e746163745f737461747573223a226e6577227d9292c40465746167c40f22363631313564383439386232322292c4086c6f636174696f6ec4152f7075626c69632f76322f636f6e74616374732f31');
INSERT INTO public.link VALUES (1, 'attio', 'people', 'r-2', 8, NULL, NULL);
INSERT INTO public.link VALUES (1, 'hubspot', 'contact', '501', 9, NULL, NULL);
INSERT INTO public.link VALUES (1, 'hubspot', 'contact', '502', 10, 1, 7);
INSERT INTO public.migration VALUES ('0001_first', 'b4431e5cbd6c30ec314bfa9675ebcd1f4915d9c5241e5e9afee37629c8200155');
INSERT INTO public.migration VALUES ('0002_connections', 'bca94cd28252ade399a39ab72f663854449e5bfa81a1ea57258f9093fd6635fa');
INSERT INTO public.migration VALUES ('0003_shapes', 'ab4ccdb219df1d4d3d56b8855a5d73e2144f0cbe50e3c8ae15be66704733f571');
INSERT INTO public.migration VALUES ('0004_access_tokens', 'ab7eb7329dc1b830b29373e3187fc9102a5347eb22712339f64986af4aaa5bbd');
INSERT INTO public.migration VALUES ('0005_clients_and_keys', '0073c997607a93aa282aace71245f6dd59e2f18b209d6217ddfc23d1c9fa55d7');
INSERT INTO public.migration VALUES ('0006_idempotency', 'f0e40d5a86daf05ecd198dec89c18a8bca86bc674fdd8aff50793dbd1dd39613');
INSERT INTO public.migration VALUES ('0008_erasure', 'a894cc491b1bf580f6601c8b02e75bd05e23ef1dd6fa7a29ab443157f2310484');
INSERT INTO public.migration VALUES ('0009_sealed_secrets', '3ced4f1a1a7217005fc519750feb6b6b138cf58539bc05f262182f29cc70e3fc');
INSERT INTO public.migration VALUES ('0010_row_level_security', '017190e48c30783f8ac746f750612079b4a68c58166e943a72e8b97ae6b83b68');
INSERT INTO public.migration VALUES ('0012_status_and_time', '6009a1eacc216d6952bb92c9beeacb05cd96f6cf6e60c61e158b91a85fb87879');
INSERT INTO public.migration VALUES ('0013_stuck', '92808c6fe6f0795dfec9b79b230f483982081e912ea2fd52d492fd14d6ad790f');
INSERT INTO public.migration VALUES ('0014_recent_calls', 'b9d3ca45a841be133fb59874179ee31b3284d3a01ed21d8cc36c5450c373dfcf');
INSERT INTO public.migration VALUES ('0015_known_facts', '37d3a8944fdf0c5b51f9f89d94271465e6c218e0c6bab3437f2e934a008ed64f');
INSERT INTO public.migration VALUES ('0016_places', '620bd970f8ca8336caa6a858283c8b89e37f0fdc536446a0b5ad3ad854beac6f');
INSERT INTO public.migration VALUES ('0017_repeats_and_problems', '151455383c47593b43976f81b5e3df1523c9ac60a489f6cd75fbb0e6e75359f8');
INSERT INTO public.migration VALUES ('0018_refusals', '6bd48e401c874ab73e3d07c1b9dce72de0eaa656e274e6dc80258cbe906d727e');
INSERT INTO public.migration VALUES ('0020_unproven', '83d787861b7a738d5e9fe78967a9cadcc371b5cd3f0c9e41842f0240bf4e0218');
INSERT INTO public.migration VALUES ('0021_order_of_creation', 'd1c387d75fcb7a61756cca4c0d348af8d20c690a9527e6967e734f27a5a230aa');
INSERT INTO public.recent_call VALUES (1, '\xa971b03aece5d6600923e40fb122f6f0', 2, 1795596311237264, NULL);
INSERT INTO public.recent_call VALUES (1, '\x243d1d38e9459448243cecd783f15380', 3, 1795596311239057, NULL);
INSERT INTO public.recent_call VALUES (1, '\x94eb38b05083421d964fa537f131b62f', 5, 1795596311243328, NULL);
INSERT INTO public.recent_call VALUES (1, '\x52179accb77640303d64776274beb473', 6, 1795596311256456, NULL);
INSERT INTO public.recent_call VALUES (1, '\x67aace494aaf5786706f7e3244e47fde', 7, 1795596311265424, NULL);
INSERT INTO public.recent_call VALUES (1, '\x17ebce55ba948eaffaf10e921358695f', 8, 1795596311268998, 1);
INSERT INTO public.recent_call VALUES (1, '\x01f026dfe54415b1bdae2cffc8948592', 9, 1795596311280990, NULL);
INSERT INTO public.recent_call VALUES (1, '\xf14fc3560c2d6978b8f44bc7d45dc302', 10, 1795596311284877, NULL);
INSERT INTO public.record_source VALUES (1, 'attio', 1795596398167971, 3, 0, 'api.attio.com cannot be reached: gaierror [Errno -2] Name or service not known', 1795596378167983, NULL);
INSERT INTO public.refusal VALUES (1, 1795596311291494, 1, '', 'email_campaign', 'instantly', 'not_verified', 172, 1, '{"user-agent":"Python-urllib/3.11","content-type":"application/json"}');
INSERT INTO public.refusal VALUES (0, 1795596311293351, 2, 'nobody-here', 'crm', NULL, 'unknown_client', 0, 1, '{"user-agent":"Python-urllib/3.11","content-type":"application/json"}');
INSERT INTO public.seal_key VALUES ('01a0c79c3bc2', 'sealed:1:01a0c79c3bc2:5KpWddUiMTS9kXHqQAclLm7BP6K4AcF8MMNIkBKK_qpGmxUi');
INSERT INTO public.server_secret VALUES ('erasure', '\x50915b1841671a40f98a8f86285db1de6e7acac17bc83c084b5bd0a2dbec59c0');
INSERT INTO public.wanted_record VALUES (1, 'hubspot', 'contact', '501', 0, 0, 1795596312164270, 1795596314164270, 0);
INSERT INTO public.wanted_record VALUES (1, 'attio', 'people', 'r-2', 0, 1, 1795596312164270, 1795596398167971, 3);
ALTER TABLE ONLY public.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.client_alias
    ADD CONSTRAINT client_alias_pkey PRIMARY KEY (client_id);
ALTER TABLE ONLY public.client
    ADD CONSTRAINT client_client_id_key UNIQUE (client_id);
ALTER TABLE ONLY public.client
    ADD CONSTRAINT client_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.company_claim
    ADD CONSTRAINT company_claim_pkey PRIMARY KEY (client, tool, object_type, object_id, record_kind, record_id);
ALTER TABLE ONLY public.company
    ADD CONSTRAINT company_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.connection
    ADD CONSTRAINT connection_pkey PRIMARY KEY (client, channel, tool);
ALTER TABLE ONLY public.contact
    ADD CONSTRAINT contact_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.custom_field
    ADD CONSTRAINT custom_field_pkey PRIMARY KEY (client, record_kind, record_id, name);
ALTER TABLE ONLY public.delivery_body
    ADD CONSTRAINT delivery_body_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT delivery_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.erased
    ADD CONSTRAINT erased_pkey PRIMARY KEY (client, digest);
ALTER TABLE ONLY public.erasure
    ADD CONSTRAINT erasure_pkey PRIMARY KEY (client, id);
ALTER TABLE ONLY public.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (client, record_kind, record_id, occurred_us, key);
ALTER TABLE ONLY public.id_block
    ADD CONSTRAINT id_block_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.kept_answer
    ADD CONSTRAINT kept_answer_pkey PRIMARY KEY (client, key);
ALTER TABLE ONLY public.link
    ADD CONSTRAINT link_pkey PRIMARY KEY (client, tool, object_type, object_id);
ALTER TABLE ONLY public.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.recent_call
    ADD CONSTRAINT recent_call_pkey PRIMARY KEY (client, key);
ALTER TABLE ONLY public.record_source
    ADD CONSTRAINT record_source_pkey PRIMARY KEY (client, tool);
ALTER TABLE ONLY public.refusal
    ADD CONSTRAINT refusal_pkey PRIMARY KEY (client, received_us, id);
ALTER TABLE ONLY public.seal_key
    ADD CONSTRAINT seal_key_pkey PRIMARY KEY (key_id);
ALTER TABLE ONLY public.server_secret
    ADD CONSTRAINT server_secret_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.wanted_record
    ADD CONSTRAINT wanted_record_pkey PRIMARY KEY (client, tool, object_type, object_id);
CREATE INDEX api_key_client ON public.api_key USING btree (client, key_id);
CREATE INDEX client_alias_client ON public.client_alias USING btree (client, client_id);
CREATE INDEX client_deleting ON public.client USING btree (state) WHERE (state = 'deleting'::text);
CREATE INDEX company_claim_record ON public.company_claim USING btree (client, record_kind, record_id);
CREATE INDEX company_created ON public.company USING btree (client, created_us, id);
CREATE UNIQUE INDEX company_domain ON public.company USING btree (client, domain);
CREATE INDEX company_status ON public.company USING btree (client, status, created_us, id) WHERE (status IS NOT NULL);
CREATE INDEX company_status_updated ON public.company USING btree (client, status, updated_us, id) WHERE (status IS NOT NULL);
CREATE INDEX company_updated ON public.company USING btree (client, updated_us, id);
CREATE INDEX contact_company ON public.contact USING btree (client, company_id, created_us, id) WHERE (company_id IS NOT NULL);
CREATE INDEX contact_created ON public.contact USING btree (client, created_us, id);
CREATE UNIQUE INDEX contact_email ON public.contact USING btree (client, email_key) WHERE (email_key IS NOT NULL);
CREATE UNIQUE INDEX contact_linkedin ON public.contact USING btree (client, linkedin_key) WHERE (linkedin_key IS NOT NULL);
CREATE INDEX contact_status ON public.contact USING btree (client, status, created_us, id) WHERE (status IS NOT NULL);
CREATE INDEX contact_status_updated ON public.contact USING btree (client, status, updated_us, id) WHERE (status IS NOT NULL);
CREATE INDEX contact_updated ON public.contact USING btree (client, updated_us, id);
CREATE INDEX delivery_oldest ON public.delivery USING btree (state, received_us) WHERE (state = ANY (ARRAY['parked'::text, 'unrecognised'::text, 'failed'::text]));
CREATE INDEX delivery_problems ON public.delivery USING btree (client, id) WHERE (problems IS NOT NULL);
CREATE INDEX delivery_shape ON public.delivery USING btree (client, state, channel, tool, shape, received_us) WHERE (state = ANY (ARRAY['parked'::text, 'unrecognised'::text, 'failed'::text]));
CREATE INDEX delivery_stuck ON public.delivery USING btree (client, state, id) WHERE (state = ANY (ARRAY['parked'::text, 'unrecognised'::text, 'failed'::text]));
CREATE INDEX delivery_unproven ON public.delivery USING btree (client, id, size, received_us) WHERE ((state = 'unrecognised'::text) AND (body_gone IS NULL) AND ((verified IS NULL) OR (verified = 0)));
CREATE INDEX delivery_waiting ON public.delivery USING btree (client, next_attempt_us, id) WHERE (state = 'received'::text);
CREATE INDEX delivery_with_body ON public.delivery USING btree (client, applied_us, id) WHERE ((applied_us IS NOT NULL) AND (body_gone IS NULL));
CREATE INDEX erased_together ON public.erased USING btree (client, erasure);
CREATE INDEX erasure_open ON public.erasure USING btree (client, id) WHERE (done_us IS NULL);
CREATE INDEX event_delivery ON public.event USING btree (client, delivery_id) WHERE (delivery_id IS NOT NULL);
CREATE INDEX event_key ON public.event USING btree (client, key, occurred_us) WHERE (delivery_id IS NOT NULL);
CREATE INDEX kept_answer_expires ON public.kept_answer USING btree (expires_us);
CREATE INDEX kept_answer_record ON public.kept_answer USING btree (client, record_kind, record_id) WHERE (record_id IS NOT NULL);
CREATE INDEX link_record ON public.link USING btree (client, record_kind, record_id) WHERE (record_id IS NOT NULL);
CREATE INDEX link_waiting ON public.link USING btree (client, id) WHERE (record_id IS NULL);
CREATE INDEX recent_call_received ON public.recent_call USING btree (client, received_us);
CREATE INDEX refusal_newest ON public.refusal USING btree (received_us, id);
CREATE INDEX wanted_record_due ON public.wanted_record USING btree (client, tool, rank, next_us) WHERE (next_us IS NOT NULL);
ALTER TABLE ONLY public.contact
    ADD CONSTRAINT contact_client_company_id_fkey FOREIGN KEY (client, company_id) REFERENCES public.company(client, id);
ALTER TABLE public.api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.client ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.client_alias ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.company ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.company_claim ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.connection ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.contact ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.custom_field ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.delivery ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.delivery_body ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.erased ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.erasure ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.kept_answer ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.link ENABLE ROW LEVEL SECURITY;
CREATE POLICY of_client ON public.api_key USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.client USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || id) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = ANY (ARRAY['all'::text, 'clients'::text]))));
CREATE POLICY of_client ON public.client_alias USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = ANY (ARRAY['all'::text, 'clients'::text]))));
CREATE POLICY of_client ON public.company USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.company_claim USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.connection USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.contact USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.custom_field USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.delivery USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.delivery_body USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.erased USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = ANY (ARRAY['all'::text, 'clients'::text]))));
CREATE POLICY of_client ON public.erasure USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.event USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.kept_answer USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.link USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.recent_call USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.record_source USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.refusal USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
CREATE POLICY of_client ON public.wanted_record USING (((strpos(current_setting('touchbase.clients'::text, true), ((','::text || client) || ','::text)) > 0) OR (current_setting('touchbase.clients'::text, true) = 'all'::text)));
ALTER TABLE public.recent_call ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.record_source ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.refusal ENABLE ROW LEVEL SECURITY;
ALTER TABLE public.wanted_record ENABLE ROW LEVEL SECURITY;
