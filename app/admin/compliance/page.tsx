import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { ControlGroups } from '#components/compliance/control-groups.tsx'
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
  const passing = data.lines.filter(({ state }) => state === 'holds').length
  return (
    <Messages of={['compliance']}>
      <Page
        width="wide"
        title={t('name')}
        lead={
          <>
            <p>{t('summary', { holds: passing, all: data.lines.length })}</p>
            <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
              <p>{t.rich('asked', { time: () => <Time at={data.asked_at} relative /> })}</p>
              <RetryButton label={t('again')} asking={t('asking')} />
            </div>
          </>
        }
      >
        <ControlGroups controls={data.lines} role={person.role} />
      </Page>
    </Messages>
  )
}
