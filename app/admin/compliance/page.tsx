import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { ComplianceLines } from '#components/compliance/compliance-lines.tsx'
import { Words } from '#components/frame/words.tsx'
import { AskAgain } from '#components/ui/ask-again.tsx'
import { Page } from '#components/ui/page.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { ask, opened } from '../../reader.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('compliance'))('name'),
})

export default async function CompliancePage() {
  const person = await opened('compliance')
  const [t, { data }] = await Promise.all([getTranslations('compliance'), ask(app.compliance.read)])
  const count = (state: string) => data.lines.filter((line) => line.state === state).length
  const nothingToAsk = count('not_applicable')
  return (
    <Words of={['compliance']}>
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
              <AskAgain label={t('again')} asking={t('asking')} />
            </div>
          </>
        }
      >
        <ComplianceLines lines={data.lines} role={person.role} />
      </Page>
    </Words>
  )
}
