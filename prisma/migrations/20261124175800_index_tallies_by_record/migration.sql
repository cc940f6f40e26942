-- With the run first, the planner would read all tallies of a run as long as its statistics say that the table is small.
DROP INDEX erasure_tallies_record_idx;
CREATE INDEX erasure_tallies_record_idx ON erasure_tallies (split_part(id, E'\n', 1));
