-- Facts that an episode notes become links: a fact that goes takes its own with it, and no episode and none of its words is written anew.
INSERT INTO graph_links (group_id, kind, source, target)
  SELECT e.group_id, 'edge', e.uuid, f.fact FROM graph_episodes e CROSS JOIN LATERAL unnest(e.entity_edges) AS f (fact) ON CONFLICT DO NOTHING;

-- DropIndex
DROP INDEX "graph_episodes_entity_edges_idx";

-- AlterTable
ALTER TABLE "graph_episodes" DROP COLUMN "entity_edges";

DROP INDEX graph_episodes_words_idx;
DROP INDEX graph_entities_words_idx;
DROP INDEX graph_facts_words_idx;
DROP INDEX graph_gatherings_words_idx;

-- Of a text its characters beyond ASCII, alone and in pairs with the next: whatever the script, and whether or not it parts its words, a name
-- is found in it by its pairs. Spaces part them; letters that are one but for their place in the word are one.
CREATE FUNCTION graph_pairs(said text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(array_agg(DISTINCT p.pair), '{}') FROM (
    SELECT t.c, lead(t.c) OVER (ORDER BY t.n) AS d FROM unnest(string_to_array(translate(lower(said),
      U&'\03C2\017F\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000\FEFF', U&'\03C3s' || repeat(' ', 19)), NULL))
      WITH ORDINALITY AS t (c, n)) AS s,
    LATERAL (VALUES (s.c), (CASE WHEN octet_length(s.d) > 1 THEN s.c || s.d END)) AS p (pair)
  WHERE octet_length(s.c) > 1 AND p.pair IS NOT NULL
$$;
COMMENT ON FUNCTION graph_pairs(text) IS 'app: texts of the graph are indexed by it';
-- Runs of Latin letters and digits, of 64 at most, the pairs of all other scripts, and the group, so that one condition says all of it.
-- Written so that it is bound to the function above for good: an index is built without our search path.
CREATE OR REPLACE FUNCTION graph_words(group_id text, said text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN array_append(array_remove(string_to_array(
      regexp_replace(lower(said), '([a-z0-9]{64})|[^a-z0-9]+', ' \1 ', 'g'), ' '), ''), '/' || group_id)
    || CASE WHEN octet_length(said) > length(said) THEN graph_pairs(said) ELSE '{}'::text[] END;

-- Without a list of what is still to be entered: whoever looks something up would read all of it first.
CREATE INDEX graph_episodes_words_idx ON graph_episodes USING gin (graph_words(group_id, name || ' ' || source_description || ' ' || content || ' ' || metadata::text)) WITH (fastupdate = off);
CREATE INDEX graph_entities_words_idx ON graph_entities USING gin (graph_words(group_id, name || ' ' || summary || ' ' || attributes::text)) WITH (fastupdate = off);
CREATE INDEX graph_facts_words_idx ON graph_facts USING gin (graph_words(group_id, name || ' ' || fact || ' ' || attributes::text)) WITH (fastupdate = off);
CREATE INDEX graph_gatherings_words_idx ON graph_gatherings USING gin (graph_words(group_id, name || ' ' || summary || ' ' || attributes::text)) WITH (fastupdate = off);
ALTER INDEX graph_facts_episodes_idx SET (fastupdate = off);
