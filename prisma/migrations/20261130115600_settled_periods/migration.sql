-- Shorter periods that are in force become periods like any other: sweeps have applied them, and no later change of a role ends them.
INSERT INTO retention_overrides (visibility, days, set_by, set_at)
  SELECT visibility, days, set_by, set_at FROM retention_shortenings WHERE starts_at <= now() AND NOT is_reset
  ON CONFLICT (visibility) DO UPDATE SET days = EXCLUDED.days, set_by = EXCLUDED.set_by, set_at = EXCLUDED.set_at;
DELETE FROM retention_overrides o USING retention_shortenings s
  WHERE s.visibility = o.visibility AND s.is_reset AND s.starts_at <= now();
DELETE FROM retention_shortenings WHERE starts_at <= now();
