-- A person can turn usage events about them and their agents off.
ALTER TABLE "accounts" ADD COLUMN     "telemetry_off_at" TIMESTAMPTZ(3);
CREATE OR REPLACE VIEW account_states AS
  SELECT id, organisation_id, restricted_at, suspended_at, created_at, telemetry_off_at FROM accounts;

-- Like a restriction, the choice alone is no version of the account.
DROP TRIGGER a_preserve_held ON accounts;
CREATE TRIGGER a_preserve_held BEFORE DELETE OR UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION preserve_held_version(
  '{password_hash,must_change_password,password_expires_at,wrong_codes,wrong_code_at,factor_reminded_at}',
  '{suspended_at,deactivated_at,restricted_at,restricted_for,email_verified_at,telemetry_off_at,updated_at}');
