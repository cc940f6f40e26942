import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Page, Section } from '#components/ui/page.tsx'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { publicUrl, readEnv } from '#lib/env.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('privacy'))('title') })

const held = ['units', 'agents', 'accounts', 'audit', 'receipts'] as const
const rights = ['access', 'erasure', 'withdraw', 'complain'] as const

/** The notice that a registration refers to, from this installation's own settings. */
export default async function PrivacyPage() {
  const t = await getTranslations('privacy')
  const env = readEnv()
  const backups = env.KP_BACKUP_DAYS === undefined ? t('backupsUnstated') : t('backups', { days: env.KP_BACKUP_DAYS })
  return (
    <Page title={t('title')} lead={<p>{t('lead', { url: publicUrl(env), version: noticeVersion })}</p>}>
      <Section id="held" title={t('held.title')}>
        <dl className="grid gap-3">
          {held.map((what) => (
            <div key={what} className="grid gap-0.5">
              <dt className="font-medium">{t(`held.${what}.what`)}</dt>
              <dd className="text-quiet">{t(`held.${what}.text`)}</dd>
            </div>
          ))}
        </dl>
        <p>{backups}</p>
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
