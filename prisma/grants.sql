-- The rights of the application's role, set again after every migration; safe to repeat, and nothing here names a table of ours.
-- Run by the owner, in one transaction, with the role's name in kp.app_role. By hand: SET kp.app_role = 'kp_app'; then this file.
--
-- A new table needs no line here: the application reads and writes it. COMMENT ON TABLE … IS 'append-only…' takes change and
-- deletion away. A new function is closed; COMMENT ON FUNCTION … IS 'app…' lets the application call it.
DO $grants$
DECLARE
  app constant text := quote_ident(current_setting('kp.app_role'));
  found record;
BEGIN
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO %s', current_database(), app);
  REVOKE CREATE ON SCHEMA public FROM PUBLIC;
  EXECUTE format('REVOKE CREATE ON SCHEMA public FROM %s', app);
  EXECUTE format('GRANT USAGE ON SCHEMA public TO %s', app);
  EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO %s', app);

  -- REVOKE ALL first: whatever was granted before, TRUNCATE, REFERENCES and TRIGGER are never the application's.
  FOR found IN
    SELECT c.oid::regclass AS name,
           CASE
             WHEN c.relispartition THEN NULL -- reached through its parent alone, whose rights count
             WHEN c.relname = '_prisma_migrations' THEN 'SELECT'
             WHEN obj_description(c.oid, 'pg_class') ~* '^append-only\M' THEN 'SELECT, INSERT'
             ELSE 'SELECT, INSERT, UPDATE, DELETE'
           END AS rights
      FROM pg_class c
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
  LOOP
    EXECUTE format('REVOKE ALL ON %s FROM PUBLIC, %s', found.name, app);
    IF found.rights IS NOT NULL THEN
      EXECUTE format('GRANT %s ON %s TO %s', found.rights, found.name, app);
    END IF;
  END LOOP;

  -- An extension's functions stay as the extension made them: its operators need them.
  FOR found IN
    SELECT p.oid::regprocedure AS name, COALESCE(obj_description(p.oid, 'pg_proc') ~ '^app\M', false) AS is_open
      FROM pg_proc p
     WHERE p.pronamespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
  LOOP
    EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC, %s', found.name, app);
    IF found.is_open THEN
      EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %s', found.name, app);
    END IF;
  END LOOP;

  -- The job queue: its tables have row-level security, so rights alone would show no rows.
  IF to_regnamespace('graphile_worker') IS NOT NULL THEN
    EXECUTE format('GRANT USAGE ON SCHEMA graphile_worker TO %s', app);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA graphile_worker TO %s', app);
    EXECUTE format('GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA graphile_worker TO %s', app);
    EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA graphile_worker TO %s', app);
    FOR found IN
      SELECT c.oid::regclass AS name
        FROM pg_class c
       WHERE c.relnamespace = 'graphile_worker'::regnamespace AND c.relrowsecurity
         AND NOT EXISTS (SELECT FROM pg_policy y WHERE y.polrelid = c.oid AND y.polname = current_setting('kp.app_role'))
    LOOP -- only where missing: a policy's creation waits for every worker's transaction
      EXECUTE format('CREATE POLICY %s ON %s TO %1$s USING (true) WITH CHECK (true)', app, found.name);
    END LOOP;
  END IF;

  -- LangGraph's tables: what it wrote is rewritten and deleted; which of its migrations were applied is its own business.
  IF to_regnamespace('langgraph') IS NOT NULL THEN
    REVOKE ALL ON SCHEMA langgraph FROM PUBLIC;
    EXECUTE format('GRANT USAGE ON SCHEMA langgraph TO %s', app);
    REVOKE ALL ON ALL ROUTINES IN SCHEMA langgraph FROM PUBLIC;
    FOR found IN
      SELECT c.oid::regclass AS name, c.relname LIKE '%\_migrations' AS is_history
        FROM pg_class c
       WHERE c.relnamespace = 'langgraph'::regnamespace AND c.relkind IN ('r', 'p')
    LOOP
      EXECUTE format('REVOKE ALL ON %s FROM PUBLIC, %s', found.name, app);
      EXECUTE format('GRANT %s ON %s TO %s',
        CASE WHEN found.is_history THEN 'SELECT' ELSE 'SELECT, INSERT, UPDATE, DELETE' END, found.name, app);
    END LOOP;
  END IF;
END
$grants$;
