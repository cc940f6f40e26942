import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { ComplianceLines } from '#components/compliance/compliance-lines.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { RetryButton } from '#components/ui/retry-button.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('compliance'))('name'),
})

export default async function CompliancePage() {
  const person = await requirePageAccess('compliance')
  const [t, { data }] = await Promise.all([getTranslations('compliance'), callUseCase(app.compliance.read)])
  const count = (state: string) => data.lines.filter((line) => line.state === state).length
  const nothingToAsk = count('not_applicable')
  return (
    <Messages of={['compliance']}>
      <Page
        width="wide"
        title={t('title', { fails: count('fails'), attention: count('attention'), unknown: count('unknown') })}
        lead={
          <>
            <p>
              {t('lead', { holds: count('holds'), all: data.lines.length })}{' '}
              {nothingToAsk > 0 && t('notApplicable', { count: nothingToAsk })}
            </p>
            <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
              <p>{t.rich('asked', { time: () => <Time at={data.asked_at} />, milliseconds: data.took_ms })}</p>
              <RetryButton label={t('again')} asking={t('asking')} />
            </div>
          </>
        }
      >
        <ComplianceLines lines={data.lines} role={person.role} />
      </Page>
    </Messages>
  )
}
