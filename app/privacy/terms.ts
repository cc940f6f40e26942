import { getTranslations } from 'next-intl/server'
import { app } from '#lib/app-instance.ts'
import { readEnv } from '#lib/env.ts'

/** The periods in force, in words, as the words on what is held name them. */
export async function heldTerms() {
  const t = await getTranslations('privacy.held')
  // The words are there also while the database is not.
  const policy = await app.retention.policyNow().catch(() => undefined)
  const daysOf = (days: number | null): string => (days === null ? t('forEver') : t('days', { days }))
  return {
    network: policy ? daysOf(policy.network.days) : t('unstated'),
    org: policy ? daysOf(policy.org.days) : t('unstated'),
    private: policy ? daysOf(policy.private.days) : t('unstated'),
    years: readEnv().KP_REQUESTS_YEARS,
  }
}
