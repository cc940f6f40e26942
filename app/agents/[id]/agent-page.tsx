import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { callUseCase } from '#app/page-access.ts'
import type { OwnAgentWhole } from '#components/agents/agents.ts'
import { agentTitle, isolated } from '#components/agents/names.ts'
import { type PageName, pageNamed } from '#components/frame/pages.ts'
import { Messages, type Namespace } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { app } from '#lib/app-instance.ts'
import type { OwnAgent } from '#lib/domains/agents/own-contract.ts'
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

interface Props {
  agent: OwnAgent
  /** The current view. */
  view: View
  /** The heading: a summary of the view's content. */
  title: string
  lead?: ReactNode
  words: readonly Namespace[]
  children: ReactNode
}

/** One view of an agent, with tabs for the agent's other views. */
export async function AgentPageFrame({ agent, view, title, lead, words, children }: Props) {
  const [pages, t] = await Promise.all([getTranslations('pages'), getTranslations('agents.one')])
  return (
    <Messages of={words}>
      <Page
        title={title}
        lead={
          <>
            {lead}
            <p className="flex flex-wrap gap-x-3 [overflow-wrap:anywhere]">
              <span>
                {agent.name !== null && <>{isolated(agent.name)} </>}
                <span className="font-mono text-sm">{agent.agent_id}</span>
              </span>
              <TextLink href="/agents">{t('back')}</TextLink>
            </p>
          </>
        }
      >
        <Tabs
          label={t('views', { name: agentTitle(agent) })}
          tabs={views.map((one) => ({
            href: pageNamed(one).path.replace('[id]', encodeURIComponent(agent.agent_id)),
            title: pages(one),
            isCurrent: one === view,
          }))}
        />
        {children}
      </Page>
    </Messages>
  )
}
