-- Every master key that has sealed something here, with a text that only it opens: so a start with a wrong or missing
-- key is noticed before anything relies on a secret. A key leaves once nothing is sealed with it any more.
CREATE TABLE seal_key (
  key_id text NOT NULL PRIMARY KEY,
  canary text NOT NULL
);
