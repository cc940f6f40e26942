import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { Points } from '#components/privacy/notice-list.tsx'
import { EventList } from '#components/telemetry/event-list.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { Page, Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('telemetry'))('name') })

const code = (text: ReactNode) => <code className="font-mono text-[0.8125rem]">{text}</code>
const linkTo = (href: string) => (text: ReactNode) => <TextLink href={href}>{text}</TextLink>

/** Telemetry: all events that the installation can send, whether it sends them, and to which host. */
export default async function TelemetryPage() {
  await requirePageAccess('telemetry')
  const [t, { data }] = await Promise.all([getTranslations('telemetry'), callUseCase(app.telemetry.events)])
  const { to, events, key_days: days } = data
  const count = events.length
  return (
    <Messages>
      <Page
        title={t('name')}
        summary={to ? t('titleOn', { count, host: to.host }) : t('titleOff')}
        lead={<p>{t(to ? 'lead' : 'leadOff')}</p>}
      >
        <Section id="where" title={t('where.title')}>
          <FactList
            facts={[
              [t('where.service'), to ? code(to.host) : t('where.nowhere')],
              ...(to
                ? ([[t('where.region'), to.region === null ? t('where.noRegion') : code(to.region)]] as const)
                : []),
              [t('where.sender'), t('where.senderText')],
              [t('where.when'), t('where.whenText')],
              [t('where.lost'), t('where.lostText')],
            ]}
          />
        </Section>
        <Section id="events" title={t('events.title')}>
          <EventList events={events} />
        </Section>
        <Section id="whose" title={t('whose.title')}>
          <Points
            points={[
              ['mark', t('whose.mark')],
              ['days', t('whose.days', { days })],
              ['erased', t('whose.erased')],
              ['held', t.rich('whose.held', { link: linkTo('/settings/privacy') })],
            ]}
          />
        </Section>
        <Section id="off" title={t('off.title')}>
          <Points
            points={[
              [
                'you',
                t.rich('off.you', {
                  choice: linkTo('/settings/privacy?tab=restrict#telemetry'),
                  restrict: linkTo('/settings/privacy?tab=restrict'),
                  object: linkTo('/settings/privacy?tab=restrict#object'),
                }),
              ],
              ['all', t.rich('off.all', { code })],
              ['proof', t.rich('off.proof', { code, link: linkTo('/privacy') })],
            ]}
          />
        </Section>
      </Page>
    </Messages>
  )
}
