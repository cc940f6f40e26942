import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { OutboxView } from '#components/outbox/outbox-view.tsx'
import { QueueSection } from '#components/outbox/queue-section.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { StatTiles } from '#components/ui/stat-tiles.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('outbox'))('name') })

export default async function OutboxPage() {
  await requirePageAccess('outbox')
  const [t, letters] = await Promise.all([
    getTranslations('outbox'),
    callUseCase(app.outbox.list, { query: { limit: '50' } }),
  ])
  const { delivery, queue, total } = letters
  const isFolder = delivery === 'folder'
  return (
    <Messages of={['outbox']}>
      <Page width="wide" title={t('name')} summary={isFolder ? t('leadFolder') : t('leadServer')}>
        <StatTiles
          tiles={[
            { label: t('tiles.stored'), value: total },
            { label: t('tiles.waiting'), value: queue.waiting, href: '#queue' },
            {
              label: t('tiles.retrying'),
              value: queue.retrying,
              ...(queue.retrying > 0 && { tone: 'warning' as const, href: '#queue' }),
            },
            {
              label: t('tiles.failed'),
              value: queue.failed,
              ...(queue.failed > 0 && { tone: 'danger' as const, href: '#queue' }),
            },
          ]}
        />
        {isFolder && <OutboxView initial={letters} />}
        <QueueSection queue={queue} />
        {!isFolder && total > 0 && (
          <Section id="before" title={t('before')}>
            <OutboxView initial={letters} />
          </Section>
        )}
      </Page>
    </Messages>
  )
}
