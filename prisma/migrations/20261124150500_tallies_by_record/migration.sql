-- A deleted record also removes its texts from the tallies.
CREATE INDEX erasure_tallies_record_idx ON erasure_tallies (run_id, holder, name, split_part(id, E'\n', 1));
