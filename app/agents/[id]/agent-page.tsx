import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { callUseCase } from '#app/page-access.ts'
import { AgentStateTag } from '#components/agents/agent-state.tsx'
import { agentPage, type OwnAgentWhole } from '#components/agents/agents.ts'
import { agentTitle } from '#components/agents/names.ts'
import { type PageName, pageNamed } from '#components/frame/pages.ts'
import { Messages, type Namespace } from '#components/frame/words.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Page } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import type { Breadcrumb } from '#components/ui/trail.tsx'
import { app } from '#lib/app-instance.ts'
import type { OwnAgent } from '#lib/domains/agents/contract.ts'
import { Problem } from '#lib/kernel/problem.ts'

/** The person's own agent with this id; renders the 404 page for any other id. */
export async function agentNamed(id: string): Promise<OwnAgentWhole> {
  try {
    return (await callUseCase(app.agents.readOwn, { params: { id: decodeURIComponent(id) } })).data
  } catch (error) {
    // An id that cannot be decoded is treated as a missing agent.
    if (error instanceof URIError) notFound()
    if (Problem.is(error, 'not_found', 'invalid')) notFound()
    throw error
  }
}

const views = [
  'agent',
  'agentGrimoire',
  'agentDocuments',
  'agentSharing',
  'agentSnapshots',
  'agentRecords',
] as const satisfies readonly PageName[]
type View = (typeof views)[number]

/** The breadcrumbs of a record that belongs to the agent. */
export async function agentBreadcrumbs(agent: OwnAgent): Promise<Breadcrumb[]> {
  const t = await getTranslations('agents.one')
  return [
    { href: '/agents', title: t('back') },
    { href: agentPage(agent.agent_id), title: agentTitle(agent) },
  ]
}

interface Props {
  agent: OwnAgent
  /** The current view. */
  view: View
  /** What the view is for, below the tabs. */
  lead?: ReactNode
  actions?: ReactNode
  aside?: ReactNode
  words: readonly Namespace[]
  children: ReactNode
}

/** One view of an agent, with tabs for the agent's other views. */
export async function AgentPageFrame({ agent, view, lead, actions, aside, words, children }: Props) {
  const [pages, t] = await Promise.all([getTranslations('pages'), getTranslations('agents')])
  return (
    <Messages of={[...words, 'agents']}>
      <Page
        title={<bdi>{agent.name ?? agent.agent_id}</bdi>}
        breadcrumbs={[{ href: '/agents', title: t('one.back') }]}
        status={<AgentStateTag agent={agent} />}
        summary={agent.name !== null && <CopyableId id={agent.agent_id} what={t('id')} />}
        actions={actions}
        width="wide"
        aside={aside}
        tabs={
          <Tabs
            label={t('one.views', { name: agentTitle(agent) })}
            tabs={views.map((one) => ({
              href: pageNamed(one).path.replace('[id]', encodeURIComponent(agent.agent_id)),
              title: one === 'agent' ? t('one.overview') : pages(one),
              isCurrent: one === view,
            }))}
          />
        }
      >
        {lead && <div className="grid max-w-[48rem] gap-2 text-quiet">{lead}</div>}
        {children}
      </Page>
    </Messages>
  )
}
