-- How many jobs a worker may claim beyond `room`, short functions that wait for a thread. Workers of earlier versions count them
-- in `room`.
ALTER TABLE workers ADD COLUMN claim_ahead integer NOT NULL DEFAULT 0;
