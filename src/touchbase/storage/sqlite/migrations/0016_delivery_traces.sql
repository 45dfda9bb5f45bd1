-- Traces: which span a webhook's receipt was, so that what follows from it is in the same trace.

ALTER TABLE delivery ADD COLUMN trace TEXT;  -- traceparent, then perhaps a space and tracestate; NULL: the receipt was not recorded
