-- A CRM's request to erase a person: the contact waits in the bin until a person erases or restores it.
ALTER TABLE deleted_record ADD COLUMN erasure_asked_us INTEGER;
CREATE INDEX deleted_record_asked ON deleted_record (client, record_id) WHERE erasure_asked_us IS NOT NULL;
