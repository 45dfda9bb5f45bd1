-- Events with equal times count in the order of their receipt: the stamps of their values get the time of the receipt.
--:sqlite
UPDATE custom_field SET stamp_key = COALESCE((
  SELECT printf('%013x.0000:', e.received_us) || custom_field.stamp_key
  FROM event e WHERE e.client = custom_field.client AND e.record_kind = custom_field.record_kind AND e.record_id = custom_field.record_id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = custom_field.stamped_us + CASE WHEN custom_field.stamp_key LIKE '+%' THEN CAST(substr(custom_field.stamp_key, 2, 15) AS INTEGER) ELSE 0 END
  AND e.key = CASE WHEN custom_field.stamp_key LIKE '+%' THEN substr(custom_field.stamp_key, 18) ELSE custom_field.stamp_key END), stamp_key);
UPDATE pending_company_link SET stamp_key = COALESCE((
  SELECT printf('%013x.0000:', e.received_us) || pending_company_link.stamp_key
  FROM event e WHERE e.client = pending_company_link.client AND e.record_kind = pending_company_link.record_kind AND e.record_id = pending_company_link.record_id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = pending_company_link.stamped_us + CASE WHEN pending_company_link.stamp_key LIKE '+%' THEN CAST(substr(pending_company_link.stamp_key, 2, 15) AS INTEGER) ELSE 0 END
  AND e.key = CASE WHEN pending_company_link.stamp_key LIKE '+%' THEN substr(pending_company_link.stamp_key, 18) ELSE pending_company_link.stamp_key END), stamp_key);
UPDATE contact SET status_entry_key = COALESCE((
  SELECT printf('%013x.0000:', e.received_us) || contact.status_entry_key
  FROM event e WHERE e.client = contact.client AND e.record_kind = 1 AND e.record_id = contact.id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = contact.status_entry_us + CASE WHEN contact.status_entry_key LIKE '+%' THEN CAST(substr(contact.status_entry_key, 2, 15) AS INTEGER) ELSE 0 END
  AND e.key = CASE WHEN contact.status_entry_key LIKE '+%' THEN substr(contact.status_entry_key, 18) ELSE contact.status_entry_key END), status_entry_key)
WHERE status_entry_key IS NOT NULL;
UPDATE contact SET stamps = (
  SELECT json_group_object(s.key, CASE WHEN e.key IS NULL THEN json(s.value)
    ELSE json_array(json_extract(s.value, '$[0]'), json_extract(s.value, '$[1]'), printf('%013x.0000:', e.received_us) || json_extract(s.value, '$[2]')) END)
  FROM json_each(contact.stamps) s LEFT JOIN event e ON e.client = contact.client AND e.record_kind = 1 AND e.record_id = contact.id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = json_extract(s.value, '$[1]') + CASE WHEN json_extract(s.value, '$[2]') LIKE '+%' THEN CAST(substr(json_extract(s.value, '$[2]'), 2, 15) AS INTEGER) ELSE 0 END
  AND e.key = CASE WHEN json_extract(s.value, '$[2]') LIKE '+%' THEN substr(json_extract(s.value, '$[2]'), 18) ELSE json_extract(s.value, '$[2]') END)
WHERE stamps IS NOT NULL;
UPDATE company SET status_entry_key = COALESCE((
  SELECT printf('%013x.0000:', e.received_us) || company.status_entry_key
  FROM event e WHERE e.client = company.client AND e.record_kind = 2 AND e.record_id = company.id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = company.status_entry_us + CASE WHEN company.status_entry_key LIKE '+%' THEN CAST(substr(company.status_entry_key, 2, 15) AS INTEGER) ELSE 0 END
  AND e.key = CASE WHEN company.status_entry_key LIKE '+%' THEN substr(company.status_entry_key, 18) ELSE company.status_entry_key END), status_entry_key)
WHERE status_entry_key IS NOT NULL;
UPDATE company SET stamps = (
  SELECT json_group_object(s.key, CASE WHEN e.key IS NULL THEN json(s.value)
    ELSE json_array(json_extract(s.value, '$[0]'), json_extract(s.value, '$[1]'), printf('%013x.0000:', e.received_us) || json_extract(s.value, '$[2]')) END)
  FROM json_each(company.stamps) s LEFT JOIN event e ON e.client = company.client AND e.record_kind = 2 AND e.record_id = company.id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = json_extract(s.value, '$[1]') + CASE WHEN json_extract(s.value, '$[2]') LIKE '+%' THEN CAST(substr(json_extract(s.value, '$[2]'), 2, 15) AS INTEGER) ELSE 0 END
  AND e.key = CASE WHEN json_extract(s.value, '$[2]') LIKE '+%' THEN substr(json_extract(s.value, '$[2]'), 18) ELSE json_extract(s.value, '$[2]') END)
WHERE stamps IS NOT NULL;
--:postgres
UPDATE custom_field SET stamp_key = COALESCE((
  SELECT lpad(to_hex(e.received_us), 13, '0') || '.0000:' || custom_field.stamp_key
  FROM event e WHERE e.client = custom_field.client AND e.record_kind = custom_field.record_kind AND e.record_id = custom_field.record_id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = custom_field.stamped_us + CASE WHEN custom_field.stamp_key LIKE '+%' THEN CAST(substr(custom_field.stamp_key, 2, 15) AS bigint) ELSE 0 END
  AND e.key = CASE WHEN custom_field.stamp_key LIKE '+%' THEN substr(custom_field.stamp_key, 18) ELSE custom_field.stamp_key END), stamp_key);
UPDATE pending_company_link SET stamp_key = COALESCE((
  SELECT lpad(to_hex(e.received_us), 13, '0') || '.0000:' || pending_company_link.stamp_key
  FROM event e WHERE e.client = pending_company_link.client AND e.record_kind = pending_company_link.record_kind AND e.record_id = pending_company_link.record_id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = pending_company_link.stamped_us + CASE WHEN pending_company_link.stamp_key LIKE '+%' THEN CAST(substr(pending_company_link.stamp_key, 2, 15) AS bigint) ELSE 0 END
  AND e.key = CASE WHEN pending_company_link.stamp_key LIKE '+%' THEN substr(pending_company_link.stamp_key, 18) ELSE pending_company_link.stamp_key END), stamp_key);
UPDATE contact SET status_entry_key = COALESCE((
  SELECT lpad(to_hex(e.received_us), 13, '0') || '.0000:' || contact.status_entry_key
  FROM event e WHERE e.client = contact.client AND e.record_kind = 1 AND e.record_id = contact.id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = contact.status_entry_us + CASE WHEN contact.status_entry_key LIKE '+%' THEN CAST(substr(contact.status_entry_key, 2, 15) AS bigint) ELSE 0 END
  AND e.key = CASE WHEN contact.status_entry_key LIKE '+%' THEN substr(contact.status_entry_key, 18) ELSE contact.status_entry_key END), status_entry_key)
WHERE status_entry_key IS NOT NULL;
UPDATE contact SET stamps = COALESCE((
  SELECT CAST(jsonb_object_agg(s.key, CASE WHEN e.key IS NULL THEN s.value
    ELSE jsonb_build_array(s.value -> 0, s.value -> 1, lpad(to_hex(e.received_us), 13, '0') || '.0000:' || (s.value ->> 2)) END) AS text)
  FROM jsonb_each(CAST(contact.stamps AS jsonb)) s LEFT JOIN event e ON e.client = contact.client AND e.record_kind = 1 AND e.record_id = contact.id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = CAST(s.value ->> 1 AS bigint) + CASE WHEN (s.value ->> 2) LIKE '+%' THEN CAST(substr((s.value ->> 2), 2, 15) AS bigint) ELSE 0 END
  AND e.key = CASE WHEN (s.value ->> 2) LIKE '+%' THEN substr((s.value ->> 2), 18) ELSE (s.value ->> 2) END), stamps)
WHERE stamps IS NOT NULL;
UPDATE company SET status_entry_key = COALESCE((
  SELECT lpad(to_hex(e.received_us), 13, '0') || '.0000:' || company.status_entry_key
  FROM event e WHERE e.client = company.client AND e.record_kind = 2 AND e.record_id = company.id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = company.status_entry_us + CASE WHEN company.status_entry_key LIKE '+%' THEN CAST(substr(company.status_entry_key, 2, 15) AS bigint) ELSE 0 END
  AND e.key = CASE WHEN company.status_entry_key LIKE '+%' THEN substr(company.status_entry_key, 18) ELSE company.status_entry_key END), status_entry_key)
WHERE status_entry_key IS NOT NULL;
UPDATE company SET stamps = COALESCE((
  SELECT CAST(jsonb_object_agg(s.key, CASE WHEN e.key IS NULL THEN s.value
    ELSE jsonb_build_array(s.value -> 0, s.value -> 1, lpad(to_hex(e.received_us), 13, '0') || '.0000:' || (s.value ->> 2)) END) AS text)
  FROM jsonb_each(CAST(company.stamps AS jsonb)) s LEFT JOIN event e ON e.client = company.client AND e.record_kind = 2 AND e.record_id = company.id AND e.delivery_id IS NOT NULL
  AND e.occurred_us = CAST(s.value ->> 1 AS bigint) + CASE WHEN (s.value ->> 2) LIKE '+%' THEN CAST(substr((s.value ->> 2), 2, 15) AS bigint) ELSE 0 END
  AND e.key = CASE WHEN (s.value ->> 2) LIKE '+%' THEN substr((s.value ->> 2), 18) ELSE (s.value ->> 2) END), stamps)
WHERE stamps IS NOT NULL;
