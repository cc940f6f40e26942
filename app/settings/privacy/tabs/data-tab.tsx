import { getTranslations } from 'next-intl/server'
import { cache } from 'react'
import { callUseCase } from '#app/page-access.ts'
import { InventoryOverview } from '#app/settings/privacy/inventory-overview.tsx'
import { callForOwnAgent } from '#app/settings/privacy/own-agents.ts'
import { sortedHoldings } from '#components/privacy/inventory-rules.ts'
import { OpenPrivacyRequests } from '#components/privacy/open-requests.tsx'
import { Participations } from '#components/privacy/participations.tsx'
import { WhoRead } from '#components/privacy/who-read.tsx'
import { Section } from '#components/ui/page.tsx'
import { Space } from '#components/ui/punctuation.ts'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { app } from '#lib/app-instance.ts'
import { agentQuery, type PrivacyTabProps } from './tab.ts'

const maxOpen = 5

/** The records of the tab, loaded once per page. The page starts this before it loads the agents. */
export const loadDataTab = cache((agentId: string | undefined) =>
  Promise.all([
    callForOwnAgent(app.exports.readInventory, { query: agentQuery(agentId) }),
    callUseCase(app.requests.list, { query: { open: 'true', limit: String(maxOpen) } }),
    callUseCase(app.projects.participations),
  ]),
)

/** What is stored: the number of records, categories, open requests, and participations to claim. */
export async function DataTab({ agent, agents }: PrivacyTabProps) {
  const [t, words, [inventory, requests, participations]] = await Promise.all([
    getTranslations('myPrivacy'),
    getTranslations('inventory'),
    loadDataTab(agent?.id),
  ])
  const { stores } = sortedHoldings(inventory.data)
  return (
    <>
      <p className="text-lg">
        {words('summary', {
          records: inventory.total,
          stores,
          whose: agent ? 'agent' : 'you',
          agent: agent?.name ?? '',
        })}
      </p>
      <InventoryOverview inventory={inventory} />
      {!agent && <WhoRead />}
      <p className="flex flex-wrap gap-x-6 gap-y-1 text-sm text-quiet">
        <span>
          {words.rich('asOf', { time: () => <Time at={inventory.as_of} /> })}
          <Space />
          {words.rich('notice', { link: (text) => <TextLink href="/privacy">{text}</TextLink> })}
        </span>
        <TextLink href="/settings/privacy/requests">{t('requests.all')}</TextLink>
        <TextLink href="/settings/privacy/receipts">{t('requests.receipts')}</TextLink>
      </p>
      {requests.total > 0 && (
        <Section id="requests" title={t('requests.title')}>
          <OpenPrivacyRequests
            requests={requests.data}
            more={requests.total - requests.data.length}
            agents={new Map(agents.map(({ id, name }) => [id, name]))}
          />
        </Section>
      )}
      {!agent && participations.data.length > 0 && (
        <Section id="participations" title={t('participations.title')} lead={t('participations.lead')}>
          <Participations initial={participations} />
        </Section>
      )}
    </>
  )
}
