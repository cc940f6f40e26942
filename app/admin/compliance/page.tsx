import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { ControlGroups } from '#components/compliance/control-groups.tsx'
import { type Result, resultOrder } from '#components/compliance/result-tag.tsx'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { RetryButton } from '#components/ui/retry-button.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('compliance'))('name'),
})

const tones = {
  fails: 'danger',
  attention: 'warning',
  unknown: 'warning',
  holds: 'success',
  not_applicable: 'neutral',
} as const satisfies Record<Result, string>

export default async function CompliancePage() {
  const person = await requirePageAccess('compliance')
  const [t, { data }] = await Promise.all([getTranslations('compliance'), callUseCase(app.compliance.read)])
  const count = (result: Result) => data.lines.filter(({ state }) => state === result).length
  return (
    <Messages of={['compliance']}>
      <Page
        width="wide"
        title={t('name')}
        summary={t('summary', { holds: count('holds'), all: data.lines.length - count('not_applicable') })}
        actions={
          <>
            <span className="text-sm text-quiet">
              {t.rich('asked', { time: () => <Time at={data.asked_at} show="relative" /> })}
            </span>
            <RetryButton label={t('again')} asking={t('asking')} />
          </>
        }
      >
        <StatTiles
          tiles={resultOrder.map((result) => ({
            label: t(`states.${result}`),
            value: count(result),
            ...(count(result) > 0 && { tone: tones[result], href: `#${result}` }),
          }))}
        />
        <ControlGroups controls={data.lines} role={person.role} />
      </Page>
    </Messages>
  )
}
