import { getTranslations } from 'next-intl/server'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/config/env.ts'

/** The retention periods in force, in words: the placeholders of the texts under `privacy.held`. */
export async function inventoryTerms() {
  const t = await getTranslations('privacy.held')
  // The page must render even when the database is unavailable.
  const policy = await app.retention.policyNow().catch(() => undefined)
  const daysOf = (days: number | null): string => (days === null ? t('forEver') : t('days', { days }))
  return {
    network: policy ? daysOf(policy.network.days) : t('unstated'),
    org: policy ? daysOf(policy.org.days) : t('unstated'),
    private: policy ? daysOf(policy.private.days) : t('unstated'),
    years: readEnv().KP_REQUESTS_YEARS,
  }
}
