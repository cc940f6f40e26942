-- The search of the console finds names by any part of them.
CREATE INDEX accounts_words_idx ON accounts USING gin (lower(name || ' ' || coalesce(invited_email, email)) gin_trgm_ops);
CREATE INDEX agents_words_idx ON agents USING gin (lower(id || ' ' || coalesce(name, '')) gin_trgm_ops);
CREATE INDEX projects_words_idx ON projects USING gin (lower(name) gin_trgm_ops);
