import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Page, Section } from '#components/ui/page.tsx'
import { app } from '#lib/app.ts'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { publicUrl, readEnv } from '#lib/env.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('privacy'))('title') })

/** Everything that is kept, grouped by what a reader wants to know; a new table or file has its line here. */
const held = {
  given: [
    'units',
    'skills',
    'votes',
    'reports',
    'reputation',
    'words',
    'agents',
    'tokens',
    'invites',
    'accounts',
    'sessions',
    'settings',
  ],
  network: ['audit', 'windows', 'anonymous', 'refusals', 'places'],
  passing: ['answers', 'rejected', 'letters', 'jobs', 'faults'],
  proof: ['receipts', 'exports', 'holds', 'ids', 'backups'],
} as const
const groups = ['given', 'network', 'passing', 'proof'] as const
const rights = ['access', 'erasure', 'withdraw', 'complain'] as const

/** The notice that a registration refers to, from this installation's own settings. */
export default async function PrivacyPage() {
  const t = await getTranslations('privacy')
  const env = readEnv()
  // The notice is there also while the database is not.
  const policy = await app.retention.policyNow().catch(() => undefined)
  const daysOf = (days: number | null): string => (days === null ? t('held.forEver') : t('held.days', { days }))
  const termOf = (what: (typeof held)[keyof typeof held][number]): string => {
    if (what === 'units')
      return policy
        ? t('held.units.term', {
            network: daysOf(policy.network.days),
            org: daysOf(policy.org.days),
            private: daysOf(policy.private.days),
          })
        : t('held.units.unstated')
    if (what !== 'backups') return t(`held.${what}.term`)
    return env.KP_BACKUP_DAYS === undefined
      ? t('held.backups.unstated')
      : t('held.backups.term', { days: env.KP_BACKUP_DAYS })
  }
  return (
    <Page title={t('title')} lead={<p>{t('lead', { url: publicUrl(env), version: noticeVersion })}</p>}>
      <Section id="held" title={t('held.title')} lead={t('held.lead')}>
        {groups.map((group) => (
          <section key={group} aria-labelledby={`held-${group}`} className="grid gap-1 pt-4">
            <h3 id={`held-${group}`} className="font-semibold">
              {t(`held.groups.${group}`)}
            </h3>
            <dl className="grid">
              {held[group].map((what) => (
                <div
                  key={what}
                  className="grid gap-x-6 gap-y-0.5 border-b border-line py-2.5 last:border-0 sm:grid-cols-[1fr_11rem] sm:grid-rows-[auto_1fr]"
                >
                  <dt className="font-medium">{t(`held.${what}.what`)}</dt>
                  <dd className="text-quiet sm:col-start-1">{t(`held.${what}.text`)}</dd>
                  <dd className="sm:col-start-2 sm:row-span-2 sm:row-start-1">
                    <span className="text-quiet sm:sr-only">{t('held.howLong')} </span>
                    {termOf(what)}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <p>{t('held.browser')}</p>
      </Section>
      <Section id="why" title={t('why.title')}>
        <p>{t(`why.${env.KP_LAWFUL_BASIS}`)}</p>
        <p>{t('why.only')}</p>
      </Section>
      <Section id="rights" title={t('rights.title')}>
        <ul className="grid list-disc gap-2 pl-5">
          {rights.map((right) => (
            <li key={right}>{t(`rights.${right}`)}</li>
          ))}
        </ul>
      </Section>
    </Page>
  )
}
