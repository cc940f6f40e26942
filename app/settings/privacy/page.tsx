import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { requirePageAccess } from '#app/page-access.ts'
import { Messages } from '#components/frame/words.tsx'
import { AgentSelect } from '#components/privacy/agent-filter.tsx'
import { privacyTabHref, privacyTabs } from '#components/privacy/inventory-rules.ts'
import { ButtonLink } from '#components/ui/button.tsx'
import { Page } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { agentIn, loadOwnAgents, type OwnAgentOption } from './own-agents.ts'
import { CorrectTab } from './tabs/correct-tab.tsx'
import { DataTab, loadDataTab } from './tabs/data-tab.tsx'
import { DeleteTab } from './tabs/delete-tab.tsx'
import { DownloadTab } from './tabs/download-tab.tsx'
import { RestrictTab } from './tabs/restrict-tab.tsx'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('pages'))('privacy') })

const contents = {
  data: DataTab,
  download: DownloadTab,
  correct: CorrectTab,
  restrict: RestrictTab,
  delete: DeleteTab,
} as const

export default async function PrivacyPage({
  searchParams,
}: {
  searchParams: Promise<Record<string, string | string[]>>
}) {
  const person = await requirePageAccess('privacy')
  const query = await searchParams
  const agentId = agentIn(query.agent)
  const tab = privacyTabs.find((one) => one === query.tab) ?? 'data'
  // Concurrently with the agents. `DataTab` reports a failure.
  if (tab === 'data') loadDataTab(agentId).catch(() => {})
  const [t, pages, inventory, { agents, total }] = await Promise.all([
    getTranslations('myPrivacy'),
    getTranslations('pages'),
    getTranslations('inventory'),
    loadOwnAgents(),
  ])
  const listed = agents.find(({ id }) => id === agentId)
  const agent: OwnAgentOption | undefined =
    agentId === undefined ? undefined : (listed ?? { id: agentId, name: agentId })
  const Content = contents[tab]
  return (
    <Messages of={['myPrivacy', 'inventory', 'exports', 'deletion', 'person']}>
      <Page
        title={pages('privacy')}
        width="wide"
        actions={
          <ButtonLink href={deletionHref(agentId)} tone="danger">
            {t('delete', { whom: agent ? 'agent' : 'person' })}
          </ButtonLink>
        }
      >
        <Tabs
          label={t('tabs.label')}
          tabs={privacyTabs.map((one) => ({
            href: privacyTabHref(one, agentId),
            title: t(`tabs.${one}`),
            isCurrent: one === tab,
          }))}
        />
        {agents.length > 0 && (
          <div className="grid gap-2">
            <AgentSelect agents={agent && !listed ? [agent, ...agents] : agents} />
            {total > agents.length && (
              <p className="text-sm text-quiet">{inventory('notAll', { count: agents.length })}</p>
            )}
          </div>
        )}
        <Content {...{ agent, person, agents }} />
      </Page>
    </Messages>
  )
}

const deletionHref = (agentId: string | undefined): string =>
  `/settings/privacy/delete${agentId === undefined ? '' : `?agent=${encodeURIComponent(agentId)}`}`
