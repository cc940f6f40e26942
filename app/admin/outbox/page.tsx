import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { OutboxView } from '#components/outbox/outbox-view.tsx'
import { QueueSection } from '#components/outbox/queue-section.tsx'
import { Page, Section } from '#components/ui/page.tsx'
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
  const unsent = queue.waiting + queue.retrying + queue.failed
  return (
    <Messages of={['outbox']}>
      <Page
        width="wide"
        title={isFolder ? t('titleFolder', { count: total }) : t('titleServer', { count: unsent })}
        lead={<p>{isFolder ? t('leadFolder') : t('leadServer')}</p>}
      >
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
