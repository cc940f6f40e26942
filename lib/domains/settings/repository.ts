import { statement } from '#lib/stores/postgres/statement.ts'

/** The value of a setting, and when it was changed. */
export const settingNamed = statement('settings.named', {
  takes: { name: 'text' },
  returns: { value: 'jsonb', updated_at: 'timestamptz' },
  isPrepared: true,
  sql: 'SELECT value, updated_at FROM settings WHERE name = $name',
})

export const storeSetting = statement('settings.store', {
  takes: { name: 'text', value: 'jsonb', now: 'timestamptz', by: 'text' },
  returns: 'count',
  sql: `INSERT INTO settings (name, value, updated_at, updated_by) VALUES ($name, $value, $now, $by)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
})
